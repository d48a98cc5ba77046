//! The allocating warp waits for the tensor core only: the last tile may still be read when its
//! columns are given back.
protocol tensor_memory_freed_early

param W in 1..  // warps that read
param TILES in 0..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: W + 2 }
barrier done { arrivals: 2 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: W }

role alloc warp {
    acquire columns 512 backing acc
    sync cta
    sync done
    release columns 512 backing acc
}

role mma warp {
    sync cta
    var a = producer(1)
    repeat TILES {
        wait acc_empty a.phase
        async mma writes acc
        commit acc_full
        advance a
    }
    sync done
}

role write_back[w in 0..W] warp {
    sync cta
    var c = consumer(1)
    repeat TILES {
        wait acc_full c.phase
        read acc
        arrive acc_empty
        advance c
    }
}

expect resources: refuted at W = 1, TILES = 1
