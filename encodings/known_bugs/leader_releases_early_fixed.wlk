//! leader_releases_early.wlk repaired: the warps meet before the leader releases the stage, too.
protocol leader_releases_early_fixed

param S in 1..=4  // stages
param W in 1..    // consumer warps
param I in 0..    // iterations

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
barrier warps { arrivals: W }

role producer {
    var p = producer(S)
    for i in 0..I {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role consumer[w in 0..W] {
    var c = consumer(S)
    for i in 0..I {
        sync warps
        wait full[c.index] c.phase
        sync warps
        if w == 0 {
            arrive empty[c.index]
        }
        advance c
    }
}

expect deadlock: proved
expect lapped_wait: proved
expect early_completion: proved
