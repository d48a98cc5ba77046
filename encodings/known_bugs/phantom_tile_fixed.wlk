//! phantom_tile.wlk repaired: phantom tiles are released as well.
protocol phantom_tile_fixed

param S in 1..=4
param T in 0..
param REAL in 0..

assume REAL <= T

mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }

role load {
    var p = producer(S)
    for t in 0..T {
        wait empty[p.index] p.phase
        arrive full[0, p.index]
        arrive full[1, p.index]
        advance p
    }
}

role math[cta in 0..2] {
    var c = consumer(S)
    for t in 0..T {
        wait full[cta, c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
