//! A persistent GEMM on a cluster of two CTAs: a TMA producer in each CTA, the MMA thread in
//! CTA 0 only, commits that are multicast to both CTAs, and accumulators in two buffers that an
//! epilogue warpgroup of T threads in each CTA drains.
protocol gemm_2cta_persistent

param T in 1..  // epilogue threads per CTA
param TILES in 0..
param K in 1..      // k-tiles per tile
param Q in 1..=8    // pipeline stages
param BYTES in 1..  // bytes that each CTA loads per stage

// Both CTAs' loads land on the barrier of the leader, CTA 0.
mbarrier full[Q] { arrivals: 2 }
mbarrier empty[2, Q] { arrivals: 1 }
mbarrier acc_full[2, 2] { arrivals: 1 }
mbarrier acc_empty[2] { arrivals: 2 * T }
buffer smem[2, Q]
buffer tmem[2]

role load[cta in 0..2] {
    var p = producer(Q)
    for tile in 0..TILES {
        for k in 0..K {
            wait empty[cta, p.index] p.phase
            arrive_expect_tx full[p.index] BYTES
            async copy smem[cta, p.index] completes full[p.index] BYTES
            advance p
        }
    }
}

role mma {
    var c = consumer(Q)
    var a = producer(2)
    for tile in 0..TILES {
        wait acc_empty[a.index] a.phase
        for k in 0..K {
            wait full[c.index] c.phase
            async mma reads smem[0, c.index], smem[1, c.index] writes tmem[a.index]
            commit empty[0, c.index]
            commit empty[1, c.index]
            advance c
        }
        commit acc_full[0, a.index]
        commit acc_full[1, a.index]
        advance a
    }
}

role epilogue[cta in 0..2][t in 0..T] {
    var c = consumer(2)
    for tile in 0..TILES {
        wait acc_full[cta, c.index] c.phase
        read tmem[c.index]
        arrive acc_empty[c.index]
        advance c
    }
}

expect deadlock: proved
