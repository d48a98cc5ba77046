//! The ping-pong schedule, but a warpgroup does not pass over the slots of the other one's tiles: both wait for the same slots.
protocol ping_pong_own_slots

param S in 1..  // stages
param K in 1..  // k-tiles of an output tile
param T in 0..  // output tiles

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier mainloop[2] { arrivals: 1 }
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
            // Warpgroup 0 has the first turn: its first wait passes at once.
            wait mainloop[w] (own + 1 - w) % 2
            for k in 0..K {
                wait full[c.index] c.phase
                arrive empty[c.index]
                advance c
            }
            arrive mainloop[1 - w]
            wait epilogue[w] (own + 1 - w) % 2
            arrive epilogue[1 - w]
            own = own + 1
        }
    }
}

expect deadlock: refuted at S = 1, K = 1, T = 2
