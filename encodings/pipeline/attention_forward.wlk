//! A forward attention kernel on Blackwell, one persistent CTA: a load warp, one thread that issues
//! both matrix products, a softmax warpgroup for each of the two query tiles, a correction
//! warpgroup, and an epilogue. After the structure of FlashAttention-4.
protocol attention_forward

param S in 2..=4    // stages of the ring of K and V tiles
param T in 1..      // threads per warpgroup
param TILES in 0..  // pairs of query tiles
param N in 1..      // key blocks per tile
param BYTES in 1..  // bytes per tile that is loaded

mbarrier q_full[2] { arrivals: 1 }
mbarrier q_empty[2] { arrivals: 1 }
mbarrier kv_full[S] { arrivals: 1 }
mbarrier kv_empty[S] { arrivals: 1 }
mbarrier s_full[2] { arrivals: 1 }      // scores are in tensor memory
mbarrier p_full[2] { arrivals: T }      // probabilities are written over them
mbarrier stats_full[2] { arrivals: T }  // row maxima are in shared memory
mbarrier stats_empty[2] { arrivals: T }
mbarrier o_full[2] { arrivals: 1 }    // an output has been accumulated
mbarrier o_ready[2] { arrivals: T }   // it has been rescaled
mbarrier out_full[2] { arrivals: T }  // it is in shared memory
mbarrier out_empty[2] { arrivals: 1 }
buffer q[2]
buffer kv[S]

role load {
    var p = producer(S)
    for tile in 0..TILES {
        for m in 0..2 {
            wait q_empty[m] (tile + 1) % 2
            arrive_expect_tx q_full[m] BYTES
            async copy q[m] completes q_full[m] BYTES
        }
        for n in 0..N {
            // K, then V.
            for which in 0..2 {
                wait kv_empty[p.index] p.phase
                arrive_expect_tx kv_full[p.index] BYTES
                async copy kv[p.index] completes kv_full[p.index] BYTES
                advance p
            }
        }
    }
}

role mma {
    var c = consumer(S)
    var round = 0
    for tile in 0..TILES {
        wait q_full[0] tile % 2
        wait q_full[1] tile % 2
        for n in 0..N {
            wait kv_full[c.index] c.phase
            async mma reads q[0], kv[c.index] writes s0
            commit s_full[0]
            async mma reads q[1], kv[c.index] writes s1
            commit s_full[1]
            commit kv_empty[c.index]
            advance c
            wait kv_full[c.index] c.phase
            for m in 0..2 {
                wait p_full[m] round % 2
                wait o_ready[m] round % 2
                async mma reads p, kv[c.index] writes o
                commit o_full[m]
            }
            commit kv_empty[c.index]
            advance c
            round = round + 1
        }
        commit q_empty[0]
        commit q_empty[1]
    }
}

role softmax[m in 0..2][t in 0..T] {
    var round = 0
    for tile in 0..TILES {
        for n in 0..N {
            wait s_full[m] round % 2
            read s
            wait stats_empty[m] (round + 1) % 2
            write stats
            arrive stats_full[m]
            write p
            arrive p_full[m]
            round = round + 1
        }
    }
}

role correction[t in 0..T] {
    var round = 0
    for tile in 0..TILES {
        for n in 0..N {
            for m in 0..2 {
                wait stats_full[m] round % 2
                read stats
                arrive stats_empty[m]
                if n > 0 {
                    // The product of the block before has been added.
                    wait o_full[m] (round + 1) % 2
                }
                arrive o_ready[m]
            }
            round = round + 1
        }
        for m in 0..2 {
            wait o_full[m] (round + 1) % 2
            wait out_empty[m] (tile + 1) % 2
            write out
            arrive out_full[m]
        }
    }
}

role epilogue {
    for tile in 0..TILES {
        for m in 0..2 {
            wait out_full[m] tile % 2
            arrive out_empty[m]
        }
    }
}

expect deadlock: proved
