//! The same cluster with a cluster barrier before the end: nobody exits before everybody's last remote
//! arrival has been made.
protocol exit_after_cluster_barrier

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[c in 0..2, s in 0..S] { arrivals: 1 } cta c
mbarrier empty[c in 0..2, s in 0..S] { arrivals: T } cta c
barrier cluster { arrivals: T + 1 }

role load cta 0 {
    var p = producer(S)
    repeat N {
        wait.acquire.cluster empty[0, p.index] p.phase
        arrive.release.cluster full[1, p.index]
        advance p
    }
    sync cluster
}

role math[t in 0..T] cta 1 {
    var c = consumer(S)
    repeat N {
        wait.acquire.cluster full[1, c.index] c.phase
        arrive.release.cluster empty[0, c.index]
        advance c
    }
    sync cluster
}

expect deadlock: proved
expect uninitialized: proved
