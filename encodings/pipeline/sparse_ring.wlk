//! Block-sparse GEMM: the ring runs on over tiles of different lengths.
protocol sparse_ring

param S in 1..=3
param TILES in 0..
param K in 0..  // k-blocks

pattern block[TILES, K]

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

let len(tile) = count(k in 0..K where block[tile, k])

role load {
    var p = producer(S)
    for tile in 0..TILES {
        for k in 0..len(tile) {
            wait empty[p.index] p.phase
            arrive full[p.index]
            advance p
        }
    }
}

role math {
    var c = consumer(S)
    for tile in 0..TILES {
        for k in 0..len(tile) {
            wait full[c.index] c.phase
            arrive empty[c.index]
            advance c
        }
    }
}

expect deadlock: proved
