//! Attention backward as it is written: each CTA owns a block of keys, copies the query tiles that its row of the mask
//! visits through a ring, and its first warp waits until those before it have added to dQ. It waits for its own number, which
//! CTAs that skip the tile never bring about.
protocol backward_rings_block_number

param N in 1..    // blocks of keys, one CTA each
param M in 0..    // query tiles
param S in 1..=3  // stages
param W in 1..    // warps beside the first one

pattern mask[N, M]
semaphore dq[M] = 0
mbarrier full[N, S] { arrivals: 1 }
mbarrier empty[N, S] { arrivals: W + 1 }
named met[N]

role producer[n in 0..N] warp {
    var p = producer(S)
    for m in 0..M {
        if mask[n, m] {
            wait empty[n, p.index] p.phase
            arrive_expect_tx full[n, p.index] 4096
            async copy q completes full[n, p.index] 4096
            advance p
        }
    }
}

role first[n in 0..N] warp {
    var c = consumer(S)
    for m in 0..M {
        if mask[n, m] {
            wait full[n, c.index] c.phase
            arrive empty[n, c.index]
            advance c
            wait dq[m] == n
            sync met[n] 32 * W + 32
            sync met[n] 32 * W + 32
            dq[m] += 1
        }
    }
}

role others[n in 0..N][w in 0..W] warp {
    var c = consumer(S)
    for m in 0..M {
        if mask[n, m] {
            wait full[n, c.index] c.phase
            arrive empty[n, c.index]
            advance c
            sync met[n] 32 * W + 32
            sync met[n] 32 * W + 32
        }
    }
}

expect deadlock: refuted at N = 2, M = 1
