//! trip_counts_disagree.wlk with a drain: the producer acquires every stage once more at the end, so
//! that no arrival hits a CTA that has exited. Now one trip too many already hangs.
protocol trip_counts_with_tail

param S in 1..=8  // stages
param NP in 0..
param NC in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role producer {
    var p = producer(S)
    for i in 0..NP {
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
    for i in 0..NC {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: refuted at S = 1, NP = 0, NC = 1
expect deadlock: refuted assuming NP > NC
expect deadlock: proved assuming NP == NC
