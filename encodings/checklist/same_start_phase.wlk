//! From a checklist for generated kernels: producer and consumer both start at phase 0, so the
//! producer waits for a release that comes only after its first fill.
protocol same_start_phase

param S in 1..=8
param N in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = consumer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: refuted at S = 1, N = 1
