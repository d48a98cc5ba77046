//! Rank lock for every batch and head: one semaphore per query block of each.
protocol batched_heads

param B in 1..  // batches
param H in 1..  // heads
param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[B, H, M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[b in 0..B][h in 0..H][n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[b, h, m] == rank(n, m)
        accumulate dQ[b, h, m]
        dq[b, h, m] += 1
    }
}

expect deadlock: proved
