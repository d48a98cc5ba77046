//! k_minus_one.wlk repaired: both run K k-tiles.
protocol k_minus_one_fixed

param S in 1..=8
param TILES in 0..
param K in 1..

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
        for k in 0..K {
            wait full[c.index] c.phase
            commit empty[c.index]
            advance c
        }
    }
}

expect deadlock: proved
