//! The same, published after the whole store is complete.
protocol full_wait_before_publishing

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
        wait_group 0
        ready[tile] += 1
    }
}

role reader {
    for tile in 0..TILES {
        wait ready[tile] >= 1
        read out[tile]
    }
}

expect race: proved
expect stale_read: proved
