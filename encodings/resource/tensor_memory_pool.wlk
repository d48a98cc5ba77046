//! Tensor memory: 512 columns per SM, shared by the CTAs on it. One allocation each, freed at the
//! end, always finds its turn.
protocol tensor_memory_pool

param G in 1..  // CTAs on the SM
param COLUMNS in {32, 64, 128, 256, 512}

pool columns = 512

role cta[g in 0..G] {
    acquire columns COLUMNS
    release columns COLUMNS
}

expect deadlock: proved
expect resources: proved
