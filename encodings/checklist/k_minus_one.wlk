//! From a checklist for generated kernels: the loads run K k-tiles per tile and the MMA K - 1. Both go
//! on around the ring from tile to tile, so every tile costs a stage: the loads run out of stages in
//! tile S + 1, the second one where there is one stage.
protocol k_minus_one

param S in 1..=8  // stages
param TILES in 0..
param K in 1..  // k-tiles per tile

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive full[p.index]
            advance p
        }
    }
}

role mma {
    var c = consumer(S)
    for tile in 0..TILES {
        for k in 0..K - 1 {
            wait full[c.index] c.phase
            commit empty[c.index]
            advance c
        }
    }
}

expect deadlock: refuted at S = 1, TILES = 2, K = 1
expect deadlock: refuted assuming TILES > S
expect deadlock: proved assuming TILES <= S
