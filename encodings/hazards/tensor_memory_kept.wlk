//! Tensor memory that is given back only if there was a tile: without one the CTA exits with it.
protocol tensor_memory_kept

param TILES in 0..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
mbarrier full { arrivals: 1 }

role alloc warp {
    acquire columns 256 backing acc
    if TILES > 0 {
        async mma writes acc
        commit full
        wait full 0
        read acc
        release columns 256 backing acc
    }
}

expect resources: refuted at TILES = 0
expect resources: proved assuming TILES >= 1
