//! zero_tile_mainloop.wlk repaired: wait only where there is work.
protocol zero_tile_mainloop_fixed

param T in 0..

mbarrier mainloop_done { arrivals: 1 }

role mainloop {
    for t in 0..T {
        if t == T - 1 {
            arrive mainloop_done
        }
    }
}

role epilogue {
    if T > 0 {
        wait mainloop_done 0
    }
}

expect deadlock: proved
