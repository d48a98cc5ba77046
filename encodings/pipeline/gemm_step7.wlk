//! Loads, tensor-core work and write-back on one persistent CTA: one TMA thread, one MMA thread
//! and T write-back threads, around a ring of S stages and one accumulator.
protocol gemm_step7

param S in 1..=8  // pipeline stages
param T in 1..    // write-back threads
param TILES in 0..
param K in 1..      // k-tiles per tile
param BYTES in 1..  // bytes per stage

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: T }
buffer smem[S]
buffer tmem

role load {
    var p = producer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive_expect_tx full[p.index] BYTES
            async copy smem[p.index] completes full[p.index] BYTES
            advance p
        }
    }
}

role mma {
    var c = consumer(S)
    var a = producer(1)
    for tile in 0..TILES {
        wait acc_empty a.phase
        for k in 0..K {
            wait full[c.index] c.phase
            async mma reads smem[c.index] writes tmem
            commit empty[c.index]
            advance c
        }
        commit acc_full
        advance a
    }
}

role write_back[t in 0..T] {
    var c = consumer(1)
    for tile in 0..TILES {
        wait acc_full c.phase
        read tmem
        arrive acc_empty
        advance c
    }
}

expect deadlock: proved
expect early_completion: proved
expect tx_mismatch: proved
expect lapped_wait: proved
