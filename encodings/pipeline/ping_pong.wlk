//! The ping-pong schedule: two warpgroups take the output tiles by turns, and share one ring. A warpgroup begins the main loop of
//! its tile when the other one has come to the end of its own, and likewise with the epilogue.
protocol ping_pong

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
        } else {
            // The other one's slots are passed over.
            for k in 0..K {
                advance c
            }
        }
    }
}

expect deadlock: proved
expect early_completion: proved
