//! A tile is stored asynchronously to global memory and published through a counter after
//! `wait_group 0 read`, which waits only until the source has been read: whoever sees the counter
//! reads what may not have been written.
protocol read_wait_before_publishing

param TILES in 0..

semaphore ready[TILES] = 0
buffer staging
buffer out[TILES]

role writer {
    for tile in 0..TILES {
        write staging
        fence.proxy.async
        async store reads staging writes out[tile]
        commit_group
        wait_group 0 read
        ready[tile] += 1
    }
}

role reader {
    for tile in 0..TILES {
        wait ready[tile] >= 1
        read out[tile]
    }
}

expect race: refuted at TILES = 1
expect stale_read: refuted at TILES = 1
