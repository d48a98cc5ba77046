//! Deterministic dQ accumulation of causal attention, shortest rows first.
//!
//! Key tiles start in descending order, and turns on m count down from the last key tile that
//! m sees, so every wait is for a CTA started earlier. The "shortest processing time first"
//! schedule of flash-attention.
protocol causal_reversed

param Tm in 1..  // rows of a query tile
param Tn in 1..  // rows of a key tile
param sq in 1..  // query length
param sk in 1..  // key length
param wr in 0..  // how far a query sees to the right; 0: causal

let M = ceil_div(sq, Tm)
let N = ceil_div(sk, Tn)

// The first query tile that sees key tile n, and one past the last key tile that m sees.
let m_min(n) = max(0, (n * Tn + sq - sk - wr) / Tm)
let n_max(m) = min(N, ceil_div((m + 1) * Tm + sk - sq + wr, Tn))

semaphore dq[M] = 0

grid cta[n in 0..N] launch descending resident 1.. {
    for m in m_min(n)..M {
        wait dq[m] == n_max(m) - 1 - n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
