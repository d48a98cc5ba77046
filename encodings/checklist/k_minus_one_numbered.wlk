//! k_minus_one.wlk where both sides compute the stage from tile and k: the stage of the last k-tile of
//! the first tile is never released. With K >= S stages or more it is needed again in the second tile.
protocol k_minus_one_numbered

param S in 1..=8  // stages
param TILES in 0..
param K in 1..  // k-tiles per tile

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    for tile in 0..TILES {
        for k in 0..K {
            var it = tile * K + k
            wait empty[it % S] (it / S + 1) % 2
            arrive full[it % S]
        }
    }
}

role mma {
    for tile in 0..TILES {
        for k in 0..K - 1 {
            var it = tile * K + k
            wait full[it % S] it / S % 2
            commit empty[it % S]
        }
    }
}

expect deadlock: refuted at S = 1, TILES = 2, K = 1
expect deadlock: refuted assuming TILES == 2, K >= S
expect deadlock: refuted assuming TILES * K >= K + S
expect deadlock: proved assuming TILES * K < K + S
