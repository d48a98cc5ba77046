//! named_count.wlk repaired: the count comes from the number of warps.
protocol named_count_fixed

param W in 1..

named bar[16]

role load[w in 0..W] warp {
    arrive bar[2] 32 * (W + 1)
}

role epilogue_load warp {
    sync bar[2] 32 * (W + 1)
}

expect deadlock: proved
