//! Deterministic block-sparse dQ accumulation with the rank lock.
//!
//! The turn of CTA n on tile m is the number of earlier CTAs that visit m, so turns on m have
//! no gap. With CTAs started in ascending order every wait is for a CTA started earlier: no
//! pattern, row order or number of resident CTAs hangs it. The repair of lock_n_block.
protocol lock_rank

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) any order {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
