//! zero_tile_mainloop.wlk repaired: the epilogue's loads wait only where there is work.
protocol zero_tile_mainloop_fixed

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
    if TILES > 0 {
        wait turn[1] 0
    }
    for tile in 0..TILES {
        read c
    }
}

expect deadlock: proved
