//! Clusters of two CTAs with the rank lock over the rows of both.
protocol clusters_rank

param C in 1..
param M in 1..
pattern visits[2 * C, M]
semaphore dq[M] = 0
let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[c in 0..C][r in 0..2] launch ascending resident 1.. {
    for m in row(visits, 2 * c + r) {
        wait dq[m] == rank(2 * c + r, m)
        dq[m] += 1
    }
}

expect deadlock: proved
