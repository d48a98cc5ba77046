//! Deterministic dQ accumulation of local (sliding window) attention, in ascending order.
//!
//! A key tile visits a window of query tiles, yet its turn is its own index. So that later
//! turns come, each CTA also increments the semaphores of the tiles after its window.
protocol local_extra_increments

param Tm in 1..  // rows of a query tile
param Tn in 1..  // rows of a key tile
param sq in 1..  // query length
param sk in 1..  // key length
param wl in 0..  // how far a query sees to the left
param wr in 0..  // how far a query sees to the right

let M = ceil_div(sq, Tm)
let N = ceil_div(sk, Tn)

// The query tiles that see key tile n.
let m_min(n) = max(0, (n * Tn + sq - sk - wr) / Tm)
let m_max(n) = min(M, ceil_div((n + 1) * Tn + sq - sk + wl, Tm))

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in m_min(n)..m_max(n) {
        wait dq[m] == n
        accumulate dQ[m]
        dq[m] += 1
    }
    for m in max(0, m_max(n))..M {
        dq[m] += 1
    }
}

expect deadlock: proved
