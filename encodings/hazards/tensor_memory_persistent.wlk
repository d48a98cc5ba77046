//! The warp of the tensor core allocates its accumulators itself, works through all tiles, and gives
//! them back when the last one has been read.
protocol tensor_memory_persistent

param W in 1..  // warps that read
param TILES in 0..
param K in 1..

pool columns = 512 { release: mandatory }
buffer acc[2] { memory: tensor }
barrier cta { arrivals: W + 1 }
mbarrier acc_full[2] { arrivals: 1 }
mbarrier acc_empty[2] { arrivals: W }

role mma warp {
    acquire columns 256 backing acc
    sync cta
    var a = producer(2)
    for tile in 0..TILES {
        wait acc_empty[a.index] a.phase
        for k in 0..K {
            async mma writes acc[a.index]
        }
        commit acc_full[a.index]
        advance a
    }
    sync cta
    release columns 256 backing acc
}

role write_back[w in 0..W] warp {
    sync cta
    var c = consumer(2)
    for tile in 0..TILES {
        wait acc_full[c.index] c.phase
        read acc[c.index]
        arrive acc_empty[c.index]
        advance c
    }
    sync cta
}

expect deadlock: proved
expect resources: proved
expect race: proved
