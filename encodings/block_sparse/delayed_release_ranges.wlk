//! Late release over ranges of tiles, some of which are empty.
//!
//! Key block n sees a range of query blocks; the ranges of the last key blocks may lie past
//! the end and be empty. The last release is guarded: an empty row releases nothing.
protocol delayed_release_ranges

param N in 1..  // key blocks
param M in 1..  // query blocks
param S in 1..  // by how many query blocks the range moves from one key block to the next
param W in 1..  // how many query blocks a key block sees at most

let first(n) = min(M, n * S)
let end(n) = min(M, n * S + W)

pattern visits[n in 0..N, m in 0..M] = first(n) <= m && m < end(n)

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in first(n)..end(n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        if m > first(n) {
            dq[m - 1] += 1
        }
    }
    if first(n) < end(n) {
        dq[end(n) - 1] += 1
    }
}

expect deadlock: proved
