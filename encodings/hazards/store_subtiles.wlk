//! An epilogue that writes each tile in subtiles through D staging buffers: before a buffer is written again
//! at most D - 1 stores may still read, whichever tile they belong to.
protocol store_subtiles

param D in 1..=4  // staging buffers
param T in 1..    // threads
param TILES in 0..
param SUB in 1..  // subtiles per tile

barrier group { arrivals: T }
buffer staging[D, T]
buffer out[TILES, SUB, T]

role thread[t in 0..T] {
    var p = producer(D)
    for tile in 0..TILES {
        for sub in 0..SUB {
            elect {
                wait_group D - 1 read
            }
            sync group
            write staging[p.index, t]
            fence.proxy.async
            sync group
            elect {
                for x in 0..T {
                    async store reads staging[p.index, x] writes out[tile, sub, x]
                }
                commit_group
            }
            advance p
        }
    }
    elect {
        wait_group 0
    }
}

expect race: proved
expect stale_read: proved
