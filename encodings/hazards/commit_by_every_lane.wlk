//! All lanes of the MMA warp issue the commit that one elected lane should issue. A lane that has
//! started nothing commits nothing, and its arrival lands at once: slots are handed back while
//! they are still being read.
protocol commit_by_every_lane

param LANES in 1..=32
param S in 1..=8  // pipeline stages
param K in 0..    // k-tiles

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
buffer smem[S]
buffer tmem

role load {
    var p = producer(S)
    for k in 0..K {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] 1024
        async copy smem[p.index] completes full[p.index] 1024
        advance p
    }
}

role mma[lane in 0..LANES] {
    var c = consumer(S)
    for k in 0..K {
        wait full[c.index] c.phase
        if lane == 0 {
            async mma reads smem[c.index] writes tmem
        }
        commit empty[c.index]
        advance c
    }
}

expect early_completion: refuted at LANES = 2, S = 1, K = 1
expect race: refuted at LANES = 2, S = 1, K = 2
