//! From a checklist for generated kernels: the producer starts at the consumer's phase, 0, so it waits
//! for a release that comes only after its first fill.
protocol producer_starts_at_0

param S in 1..=8  // stages
param C in 1..    // consumer threads
param N in 0..    // stage uses

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: C }

role load {
    var p = consumer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..C] {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: refuted at S = 1, C = 1, N = 1
expect deadlock: proved assuming N == 0
