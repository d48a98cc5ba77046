//! The same, but a tile without key blocks sends no accumulator: the epilogue, which counts tiles, waits for ever.
protocol sparse_attention_empty

param S in 1..=3
param TILES in 0..
param K in 0..

pattern block[TILES, K]

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: 1 }

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
        wait acc_empty (tile + 1) % 2
        for k in 0..len(tile) {
            wait full[c.index] c.phase
            commit empty[c.index]
            advance c
        }
        if len(tile) > 0 {
            commit acc_full
        }
    }
}

role epilogue {
    for tile in 0..TILES {
        wait acc_full tile % 2
        arrive acc_empty
    }
}

expect deadlock: refuted at S = 1, TILES = 1, K = 0
