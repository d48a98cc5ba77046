//! The same epilogue, which lets two stores read: the one of the buffer that is written next may be one
//! of them.
protocol store_reuse_too_soon

param T in 1..  // threads
param TILES in 0..

barrier group { arrivals: T }
buffer staging[2, T]
buffer out[TILES, T]

role thread[t in 0..T] {
    for tile in 0..TILES {
        elect {
            wait_group 2 read
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

expect race: refuted at T = 1, TILES = 3
