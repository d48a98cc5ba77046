//! The ping-pong schedule without its turns at the main loop: a warpgroup may come to a slot a whole ring before the other one has
//! emptied it, and takes the phase before for its own.
protocol ping_pong_without_turns

param S in 1..  // stages
param K in 1..  // k-tiles of an output tile
param T in 0..  // output tiles

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier epilogue[2] { arrivals: 1 }

role load {
    var p = producer(S)
    for tile in 0..T {
        for k in 0..K {
            wait empty[p.index] p.phase
            arrive_expect_tx full[p.index] 32768
            async copy operands completes full[p.index] 32768
            advance p
        }
    }
}

role math[w in 0..2] {
    var c = consumer(S)
    var own = 0  // tiles of this warpgroup so far
    for tile in 0..T {
        if tile % 2 == w {
            for k in 0..K {
                wait full[c.index] c.phase
                arrive empty[c.index]
                advance c
            }
            wait epilogue[w] (own + 1 - w) % 2
            arrive epilogue[1 - w]
            own = own + 1
        } else {
            // The other one's slots are passed over.
            for k in 0..K {
                advance c
            }
        }
    }
}

expect deadlock: refuted at S = 1, K = 1, T = 2
