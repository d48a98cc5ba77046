//! Rank lock for clusters of two CTAs, each with a key block of its own.
//!
//! The key block is computed from the cluster and the CTA's rank in it, so the CTAs of one
//! query block differ in two indices of the grid.
protocol clusters

param C in 1..  // clusters
param M in 1..  // query blocks

pattern visits[2 * C, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[c in 0..C][r in 0..2] launch ascending resident 1.. {
    for m in row(visits, 2 * c + r) any order {
        wait dq[m] == rank(2 * c + r, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
