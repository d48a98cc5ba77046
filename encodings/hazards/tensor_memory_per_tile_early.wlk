//! The same with warps that say that they have read before they do: the accumulator may be given back
//! by then.
protocol tensor_memory_per_tile_early

param W in 1..  // warps that read
param TILES in 0..
param K in 1..  // k-tiles per tile

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
mbarrier full { arrivals: 1 }
mbarrier read_out { arrivals: W }

role mma warp {
    for tile in 0..TILES {
        acquire columns 256 backing acc
        for k in 0..K {
            async mma writes acc
        }
        commit full
        wait read_out tile % 2
        release columns 256 backing acc
    }
}

role write_back[w in 0..W] warp {
    for tile in 0..TILES {
        wait full tile % 2
        arrive read_out
        read acc
    }
}

expect resources: refuted at W = 1, TILES = 1, K = 1
expect race: refuted at W = 1, TILES = 2, K = 1
