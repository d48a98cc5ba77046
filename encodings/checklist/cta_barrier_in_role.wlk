//! From a checklist for generated kernels: a barrier of the whole CTA inside a branch that only
//! one role takes, as 128 of 384 threads.
protocol cta_barrier_in_role

param A in 1..  // threads of the role that takes the barrier
param B in 1..  // all other threads of the CTA

barrier cta { arrivals: A + B }

role epilogue[t in 0..A] {
    sync cta
}

role others[t in 0..B] {}

expect deadlock: refuted at A = 1, B = 1
