//! Serial split-K: at every output tile the CTAs add their parts in the order of their numbers.
protocol serial_tiles

param C in 1..
param S in 1..=4
param K in 0..
param TILES in 0..

mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore lock[TILES] = 0

role producer[c in 0..C] {
    var p = producer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait empty[c, p.index] p.phase
            arrive full[c, p.index]
            advance p
        }
    }
}

role consumer[c in 0..C] {
    var q = consumer(S)
    for tile in 0..TILES {
        for k in 0..K {
            wait full[c, q.index] q.phase
            arrive empty[c, q.index]
            advance q
        }
        wait lock[tile] == c
        lock[tile] += 1
    }
}

expect deadlock: proved
