//! The rank lock on memory that was not cleared.
//!
//! As lock_rank, but nobody sets the semaphores to 0 first. A single CTA and a single tile
//! hang unless the memory happens to hold the right value.
protocol unzeroed

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = any

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 1, M = 1, R = 1
