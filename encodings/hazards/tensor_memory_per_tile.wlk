//! A persistent kernel that allocates its accumulator for every tile and gives it back when the tile has been
//! read, so that another kernel on the same processor gets a turn.
protocol tensor_memory_per_tile

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
        read acc
        arrive read_out
    }
}

expect deadlock: proved
expect resources: proved
expect race: proved
