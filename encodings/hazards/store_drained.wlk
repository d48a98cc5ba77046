//! The same with `wait_group 0 read` before the place is written again: the store may still be
//! under way, but has read what it stores.
protocol store_drained

param T in 1..  // threads of the epilogue
param TILES in 0..

barrier epilogue { arrivals: T }
buffer staging[T]

role thread[t in 0..T] {
    for tile in 0..TILES {
        write staging[t]
        fence.proxy.async
        sync epilogue
        elect {
            for i in 0..T {
                async store reads staging[i]
            }
            commit_group
            wait_group 0 read
        }
        sync epilogue
    }
}

expect race: proved
expect stale_read: proved
