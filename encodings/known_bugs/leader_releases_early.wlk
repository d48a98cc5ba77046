//! triton #10035: W warps meet, wait for a stage, and warp 0 alone releases it, possibly before its
//! siblings have looked. The stage is filled again and they wait for a phase that has passed.
protocol leader_releases_early

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
        if w == 0 {
            arrive empty[c.index]
        }
        advance c
    }
}

expect deadlock: refuted at S = 1, W = 2, I = 2
expect deadlock: proved assuming W <= 1 || I <= S
expect deadlock: refuted assuming W == 2, I == S + 1
expect lapped_wait: refuted at S = 1, W = 2, I = 2
