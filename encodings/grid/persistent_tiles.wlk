//! Persistent kernel: CTA c takes tiles c, c + C, ..., with a ring that runs on from tile to tile.
protocol persistent_tiles

param C in 1..
param S in 1..=4
param K in 0..
param TILES in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }

role producer[c in 0..C] {
    var p = producer(S)
    for nth in 0..ceil_div(max(TILES - c, 0), C) {
        for k in 0..K {
            wait empty[c, p.index] p.phase
            arrive full[c, p.index]
            advance p
        }
    }
}

role consumer[c in 0..C] {
    var q = consumer(S)
    for nth in 0..ceil_div(max(TILES - c, 0), C) {
        for k in 0..K {
            wait full[c, q.index] q.phase
            arrive empty[c, q.index]
            advance q
        }
    }
}

expect deadlock: proved
