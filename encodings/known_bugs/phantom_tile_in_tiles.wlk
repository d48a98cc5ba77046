//! phantom_tile.wlk by tiles: an odd number of tiles, K k-tiles each. One phantom tile is enough where
//! a tile goes around the ring, K > S.
protocol phantom_tile_in_tiles

param S in 1..=4     // stages
param ROUNDS in 1..  // tiles of CTA 0; CTA 1 has one less and a phantom
param K in 1..       // k-tiles per tile

mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }

role load {
    var p = producer(S)
    for tile in 0..ROUNDS {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive full[0, p.index]
            arrive full[1, p.index]
            advance p
        }
    }
}

role math[cta in 0..2] {
    var c = consumer(S)
    for tile in 0..ROUNDS - cta {
        for k in 0..K {
            wait full[cta, c.index] c.phase
            arrive empty[c.index]
            advance c
        }
    }
}

expect deadlock: refuted at S = 1, ROUNDS = 1, K = 2
expect deadlock: refuted assuming K > S
expect deadlock: proved assuming K <= S
