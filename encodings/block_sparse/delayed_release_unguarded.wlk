//! Late release over ranges of tiles, without the guard against empty ones.
//!
//! As delayed_release_ranges, but a CTA whose range is empty still releases the tile before
//! its end, which it never held. The tile's count runs ahead, and a CTA that waits for the
//! exact value never sees it. Reported for flash-attention, commit 56fdf3e2.
protocol delayed_release_unguarded

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
    dq[end(n) - 1] += 1
}

expect deadlock: refuted at N = 2, M = 1, R = 2
