//! Clusters of two CTAs, dense.
protocol clusters

param C in 1..
param M in 1..
semaphore dq[M] = 0

grid cta[c in 0..C][r in 0..2] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == 2 * c + r
        dq[m] += 1
    }
}

expect deadlock: proved
