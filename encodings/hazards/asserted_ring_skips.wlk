//! The same ring, whose consumers believe that the next stage is still empty: the producer may be
//! ahead.
protocol asserted_ring_skips

param S in 2..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }

role load {
    var p = producer(S)
    repeat N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(S)
    repeat N {
        wait full[c.index] c.phase
        assert full[(c.index + 1) % S] <= c.count / S
        arrive empty[c.index]
        advance c
    }
}

expect assertion: refuted at S = 2, T = 1, N = 2
