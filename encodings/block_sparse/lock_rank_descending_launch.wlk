//! The rank lock under the wrong launch order.
//!
//! As lock_rank, but CTAs start in descending order: the CTA whose turn comes first starts
//! last, and never while CTAs that wait for it hold every place. Safe only when the whole
//! grid is resident.
protocol lock_rank_descending_launch

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch descending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 2, M = 1, R = 1
expect deadlock: proved assuming R >= N
