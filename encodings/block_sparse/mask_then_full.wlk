//! Rank lock over two lists of tiles: partially masked ones first, then full ones.
//!
//! A tile is in one of the lists at most; full ones are those that are not masked.
protocol mask_then_full

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visited[N, M]
pattern partial[N, M]
pattern mask[n in 0..N, m in 0..M] = visited[n, m] && partial[n, m]
pattern full[n in 0..N, m in 0..M] = visited[n, m] && !partial[n, m]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visited[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(mask, n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
    for m in row(full, n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
