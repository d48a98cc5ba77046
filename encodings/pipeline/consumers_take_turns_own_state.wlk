//! Two consumers take turns on one ring, but each advances its pipeline state only on its own k-tiles: both of them wait for
//! the first stages, and nobody empties the later ones.
protocol consumers_take_turns_own_state

param S in 2..=6  // stages
param K in 0..

assume S % 2 == 0

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for k in 0..K {
        wait empty[p.index] p.phase
        arrive full[p.index]
        advance p
    }
}

role math[c in 0..2] {
    var p = consumer(S)
    for k in 0..K {
        if k % 2 == c {
            wait full[p.index] p.phase
            arrive empty[p.index]
            advance p
        }
    }
}

expect deadlock: refuted at S = 2, K = 3
