//! The reversed causal lock of clusters, with the bound counted in tiles of the cluster.
//!
//! The repair of n_bound_per_cta.
protocol n_bound_per_cluster

param sq in 1..  // query length
param sk in 1..  // key length

let Tm = 128  // rows of a query tile
let Tn = 256  // rows of the key tile of a cluster of two CTAs
let M = ceil_div(sq, Tm)
let N = ceil_div(sk, Tn)

// The first query tile that sees key tile n, and one past the last key tile that m sees.
let m_min(n) = max(0, (n * Tn + sq - sk) / Tm)
let n_max(m) = min(ceil_div(sk, Tn), ceil_div((m + 1) * Tm + sk - sq, Tn))

semaphore dq[M] = 0

grid cluster[n in 0..N] launch descending resident 1.. {
    for m in m_min(n)..M {
        wait dq[m] == n_max(m) - 1 - n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
