//! The epilogue of a persistent kernel with two staging buffers: T threads write one, an elected thread
//! stores it and goes on; two tiles later it waits until at most one store still reads before the
//! buffer is written again.
protocol store_reuse_deferred

param T in 1..  // threads
param TILES in 0..

barrier group { arrivals: T }
buffer staging[2, T]
buffer out[TILES, T]

role thread[t in 0..T] {
    for tile in 0..TILES {
        elect {
            wait_group 1 read
        }
        sync group
        write staging[tile % 2, t]
        fence.proxy.async
        sync group
        elect {
            for x in 0..T {
                async store reads staging[tile % 2, x] writes out[tile, x]
            }
            commit_group
        }
    }
    elect {
        wait_group 0
    }
}

expect deadlock: proved
expect race: proved
expect stale_read: proved
