//! The same ring with the commit issued by the lane that started the work, and the lanes of the
//! warp brought together before they go on.
protocol commit_by_one_lane

param LANES in 1..=32
param S in 1..=8  // pipeline stages
param K in 0..    // k-tiles

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
barrier lanes { arrivals: LANES }
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
        sync lanes
        if lane == 0 {
            async mma reads smem[c.index] writes tmem
            commit empty[c.index]
        }
        advance c
    }
}

expect early_completion: proved
expect race: proved
