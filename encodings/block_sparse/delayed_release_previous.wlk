//! Late release of the tile that was visited before.
//!
//! The repair of delayed_release_csr: a CTA remembers the tile it visited last and releases
//! that one, whatever its number.
protocol delayed_release_previous

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
        if last >= 0 {
            dq[last] += 1
        }
        last = m
    }
    if last >= 0 {
        dq[last] += 1
    }
}

expect deadlock: proved
