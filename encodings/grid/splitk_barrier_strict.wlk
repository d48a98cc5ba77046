//! The same kernel run for several output tiles with a strict wait and a counter that is never cleared: a CTA
//! that is slow to look finds that others have added for the next tile already.
protocol splitk_barrier_strict

param C in 1..  // CTAs
param S in 1..=4
param K in 0..  // k-tiles of each
param TILES in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore arrived = 0

role producer[c in 0..C] {
    var p = producer(S)
    for k in 0..K {
        wait empty[c, p.index] p.phase
        arrive full[c, p.index]
        advance p
    }
}

role consumer[c in 0..C] {
    var q = consumer(S)
    for k in 0..K {
        wait full[c, q.index] q.phase
        arrive empty[c, q.index]
        advance q
    }
    for tile in 0..TILES {
        arrived += 1
        wait arrived == C * (tile + 1)
    }
}

expect deadlock: refuted
