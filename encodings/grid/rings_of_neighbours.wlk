//! CTAs with a ring each, whose consumer exchanges with both neighbours around the grid after every tile.
protocol rings_of_neighbours

param C in 2..
param S in 1..=2
param TILES in 0..
param K in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore right[C] = 0
semaphore left[C] = 0

role load[c in 0..C] {
    var p = producer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait empty[c, p.index] p.phase
            arrive full[c, p.index]
            advance p
        }
    }
}

role math[c in 0..C] {
    var q = consumer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait full[c, q.index] q.phase
            arrive empty[c, q.index]
            advance q
        }
        right[(c + 1) % C] += 1
        left[(c + C - 1) % C] += 1
        wait right[c] >= tile + 1
        wait left[c] >= tile + 1
    }
}

expect deadlock: proved
