//! Late release applied to rows in the order of a compressed sparse row.
//!
//! Releasing tile m - 1 after acquiring m is right when a row visits every tile in turn. In a
//! block-sparse row m - 1 is another tile: one that this CTA has not visited yet or never
//! does. One CTA with the row [1, 0] already waits for a value that it overtook itself.
protocol delayed_release_csr

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    var last = -1
    for m in row(visits, n) {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        if m > 0 {
            dq[m - 1] += 1
        }
        last = m
    }
    if last >= 0 {
        dq[last] += 1
    }
}

expect deadlock: refuted at N = 1, M = 2, R = 1
