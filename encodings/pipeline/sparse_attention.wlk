//! Block-sparse attention: how many key blocks a query tile has is read from the mask, and an accumulator goes to the
//! epilogue after each tile.
//! The ring runs on from tile to tile.
protocol sparse_attention

param S in 1..=3
param TILES in 0..
param K in 0..

pattern block[TILES, K]

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc_full { arrivals: 1 }
mbarrier acc_empty { arrivals: 1 }

role load {
    var p = producer(S)
    for tile in 0..TILES {
        for k in row(block, tile) {
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
        for k in row(block, tile) {
            wait full[c.index] c.phase
            commit empty[c.index]
            advance c
        }
        commit acc_full
    }
}

role epilogue {
    for tile in 0..TILES {
        wait acc_full tile % 2
        arrive acc_empty
    }
}

expect deadlock: proved
