//! The rank lock with a wait that passes from its turn on.
//!
//! As lock_rank, but `>=` instead of `==`: a wait that comes late still passes.
protocol lock_rank_at_least

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) any order {
        wait dq[m] >= rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
