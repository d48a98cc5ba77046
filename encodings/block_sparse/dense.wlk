//! Deterministic dQ accumulation of dense attention.
//!
//! Every key block visits every query block, in ascending order, and its turn is its own
//! index. Every wait is for a CTA started earlier.
protocol dense

param N in 1..  // key blocks
param M in 1..  // query blocks

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
