//! A warp-specialized GEMM as on Hopper: two warpgroups wait for each of their products with groups, and the
//! elected thread of each stores the tile in a group of its own.
protocol two_products

param S in 1..=4  // stages
param T in 1..    // threads per warpgroup
param TILES in 0..
param K in 1..      // k-tiles per tile
param BYTES in 1..  // bytes per stage

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 * T }
barrier epilogue[2] { arrivals: T }
buffer smem[S]
buffer staging[2, T]

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

role math[g in 0..2][t in 0..T] {
    var c = consumer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait full[c.index] c.phase
            async wgmma reads smem[c.index]
            commit_group
            wait_group 0
            arrive empty[c.index]
            advance c
        }
        elect {
            wait_group 0 read
        }
        sync epilogue[g]
        write staging[g, t]
        fence.proxy.async
        sync epilogue[g]
        elect {
            for x in 0..T {
                async store reads staging[g, x]
            }
            commit_group
        }
    }
}

expect race: proved
expect stale_read: proved
