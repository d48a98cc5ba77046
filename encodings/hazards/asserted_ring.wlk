//! A ring of stages with what its author believes of it: indices stay inside, and who passes a wait
//! finds exactly so many phases complete.
protocol asserted_ring

param S in 1..=4  // stages
param T in 1..    // consumer threads
param N in 0..    // iterations

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }

invariant [i in 0..S] full[i] <= N

role load {
    var p = producer(S)
    repeat N {
        assert p.index >= 0 && p.index < S
        wait empty[p.index] p.phase
        assert full[p.index] == p.count / S
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(S)
    repeat N {
        wait full[c.index] c.phase
        assert full[c.index] == c.count / S + 1
        arrive empty[c.index]
        advance c
    }
}

expect assertion: proved
