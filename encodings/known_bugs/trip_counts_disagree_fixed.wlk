//! trip_counts_disagree.wlk and trip_counts_with_tail.wlk repaired: one bound for both, and the drain.
protocol trip_counts_disagree_fixed

param S in 1..=8  // stages
param N in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role producer {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
    for s in 0..S {
        wait empty[p.index] p.phase
        advance p
    }
}

role consumer {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
