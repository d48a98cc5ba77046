//! Loads, tensor-core work and write-back on one persistent CTA with everything that it reads and
//! writes: each tile is staged in shared memory, stored from there, and published once it is stored.
protocol gemm_step7_buffers

param S in 1..=8  // pipeline stages
param T in 1..    // write-back threads
param TILES in 0..
param K in 1..      // k-tiles per tile
param BYTES in 1..  // bytes per stage

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: T }
barrier epilogue { arrivals: T }
semaphore stored[TILES] = 0
buffer smem[S]
buffer tmem { memory: tensor }
buffer staging[T]
buffer out[TILES, T]

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
        write staging[t]
        fence.proxy.async
        sync epilogue
        elect {
            for i in 0..T {
                async store reads staging[i] writes out[tile, i]
            }
            commit_group
            wait_group 0
            stored[tile] += 1
        }
        sync epilogue
        advance c
    }
}

// The next kernel, on other CTAs.
role next[t in 0..T] cluster 1 {
    for tile in 0..TILES {
        wait stored[tile] >= 1
        read out[tile, t]
    }
}

expect race: proved
expect stale_read: proved
expect tx_mismatch: proved
expect early_completion: proved
