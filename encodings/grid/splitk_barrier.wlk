//! Split-K GEMM: every CTA has a ring of its own, and then all meet at a global counter.
protocol splitk_barrier

param C in 1..  // CTAs
param S in 1..=4
param K in 0..  // k-tiles of each

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
    arrived += 1
    wait arrived >= C
}

expect deadlock: proved
