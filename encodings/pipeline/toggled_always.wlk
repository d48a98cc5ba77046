//! toggled_when_not_empty.wlk with an epilogue that toggles its phase for every tile.
protocol toggled_always

param TILES in 0..
param M in 1..
param T in 1..  // epilogue threads

pattern work[TILES, M]

mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: T }

role mma {
    var phase = 0
    for tile in 0..TILES {
        if count(m in 0..M where work[tile, m]) > 0 {
            wait acc_empty phase ^ 1
            commit acc_full
            phase = phase ^ 1
        }
    }
}

role epilogue[t in 0..T] {
    var phase = 0
    for tile in 0..TILES {
        if count(m in 0..M where work[tile, m]) > 0 {
            wait acc_full phase
            arrive acc_empty
        }
        phase = phase ^ 1
    }
}

expect deadlock: refuted at TILES = 2, M = 1, T = 1
