//! One warp allocates tensor memory, the tensor core fills it, W warps read it, and the first warp
//! gives it back once all have: everything lies between, and nothing is kept.
protocol tensor_memory_freed

param W in 1..  // warps that read
param TILES in 0..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: W + 2 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: W }

role alloc warp {
    acquire columns 512 backing acc
    sync cta
    sync cta
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
    sync cta
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
    sync cta
}

expect deadlock: proved
expect resources: proved
expect race: proved
