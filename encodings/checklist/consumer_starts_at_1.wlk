//! From a checklist for generated kernels: the consumer starts at the producer's phase, 1. Its first
//! wait passes while the stage is empty, and not any more once the stage has been filled.
protocol consumer_starts_at_1

param S in 1..=8  // stages
param C in 1..    // consumer threads
param N in 0..    // stage uses

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: C }

role load {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..C] {
    var c = producer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: refuted at S = 1, C = 1, N = 1
expect deadlock: proved assuming N == 0
