//! CUTLASS #2172: the loads of the epilogue let the loads of the mainloop go first. They wait for an
//! arrival that the mainloop makes after its first tile, also where the CTA got no tile at all.
protocol zero_tile_mainloop

param TILES in 0..  // tiles that the scheduler gave to this CTA
param L in 1..      // threads of each of the two groups

// An ordered sequence of two groups: turn[g] says that it is group g's turn.
mbarrier turn[2] { arrivals: L }

role mainloop_load[t in 0..L] {
    for tile in 0..TILES {
        read ab
        if tile == 0 {
            arrive turn[1]
        }
    }
}

role epilogue_load[t in 0..L] {
    wait turn[1] 0
    for tile in 0..TILES {
        read c
    }
}

expect deadlock: refuted at TILES = 0
expect deadlock: proved assuming TILES >= 1
