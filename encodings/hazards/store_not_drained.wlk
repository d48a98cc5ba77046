//! The epilogue stages a tile in shared memory and stores it asynchronously, and stages the next
//! tile in the same place without having waited for the group of that store.
protocol store_not_drained

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
        }
        sync epilogue
    }
}

expect race: refuted at T = 1, TILES = 2
