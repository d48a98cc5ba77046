//! A producer in CTA 0 and consumers in CTA 1 of a cluster: the consumers give stages back by remote
//! arrivals on barriers of CTA 0. The producer does not wait for the last ones, so CTA 0 may have exited
//! when they come.
protocol exit_before_remote_arrival

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[c in 0..2, s in 0..S] { arrivals: 1 } cta c
mbarrier empty[c in 0..2, s in 0..S] { arrivals: T } cta c

role load cta 0 {
    var p = producer(S)
    repeat N {
        wait.acquire.cluster empty[0, p.index] p.phase
        arrive.release.cluster full[1, p.index]
        advance p
    }
}

role math[t in 0..T] cta 1 {
    var c = consumer(S)
    repeat N {
        wait.acquire.cluster full[1, c.index] c.phase
        arrive.release.cluster empty[0, c.index]
        advance c
    }
}

expect deadlock: proved
expect uninitialized: refuted at S = 1, T = 1, N = 1
