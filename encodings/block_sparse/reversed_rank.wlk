//! Deterministic block-sparse dQ accumulation, last visitor first.
//!
//! The turn of CTA n on tile m is the number of later CTAs that visit m, written as all
//! visitors minus one minus the rank. With CTAs started in descending order every wait is for
//! a CTA started earlier.
protocol reversed_rank

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])
let total(m) = count(k in 0..N where visits[k, m])

grid cta[n in 0..N] launch descending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == total(m) - 1 - rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
