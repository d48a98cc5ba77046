//! CUTLASS #2172: the epilogue waits for an arrival that a mainloop of zero tiles never makes.
protocol zero_tile_mainloop

param T in 0..  // tiles of the mainloop

mbarrier mainloop_done { arrivals: 1 }

role mainloop {
    for t in 0..T {
        if t == T - 1 {
            arrive mainloop_done
        }
    }
}

role epilogue {
    wait mainloop_done 0
}

expect deadlock: refuted at T = 0
expect deadlock: proved assuming T >= 1
