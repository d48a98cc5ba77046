//! producer_starts_at_0.wlk and consumer_starts_at_1.wlk repaired: the producer starts at 1, so that
//! its first waits pass, and the consumers at 0.
protocol start_phases_fixed

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
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
