//! Dense dQ accumulation that releases one tile late.
//!
//! A CTA releases tile m - 1 only once it holds tile m, which hides the latency of the store,
//! and the last tile after its loop. Every wait is still for a CTA started earlier.
protocol delayed_release_dense

param N in 1..  // key blocks
param M in 1..  // query blocks

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == n
        accumulate dQ[m]
        if m > 0 {
            dq[m - 1] += 1
        }
    }
    dq[M - 1] += 1
}

expect deadlock: proved
