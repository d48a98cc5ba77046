//! Tensor memory with two allocations per CTA, the second made while the first is held: hold and
//! wait. Safe iff the last CTA can still get its second one.
protocol tensor_memory_two_allocations

param G in 1..  // CTAs on the SM
param A in 1..  // columns of the first allocation
param B in 1..  // columns of the second one

assume A + B <= 512

pool columns = 512

role cta[g in 0..G] {
    acquire columns A
    acquire columns B
    release columns A + B
}

expect deadlock: proved assuming G * A + B <= 512
