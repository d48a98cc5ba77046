//! Clusters of two CTAs, as many as there are: every thread arrives at the other CTA's barrier, and nobody
//! exits before everybody of the cluster has been told.
protocol exit_of_clusters

param C in 1..  // clusters
param T in 1..  // threads per CTA

mbarrier told[k in 0..C, c in 0..2] { arrivals: T } cta c cluster k
barrier cluster_end[C] { arrivals: 2 * T }

role thread[k in 0..C][c in 0..2][t in 0..T] cta c cluster k {
    arrive.release.cluster told[k, 1 - c]
    wait.acquire.cluster told[k, c] 0
    sync cluster_end[k]
}

expect deadlock: proved
expect uninitialized: proved
