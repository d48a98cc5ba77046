//! epilogue_two_counts.wlk with a warp of its own that stores: nothing keeps it from coming before all have met. Then it opens a
//! generation of the second count, and whoever comes to meet gives another one.
protocol epilogue_two_counts_apart

param W in 1..  // warps of the epilogue

named bar[16]

role rest[w in 0..W] warp {
    sync bar[1] 32 * W
    arrive bar[1] 32 * (W + 1)
}

role store warp {
    sync bar[1] 32 * (W + 1)
}

expect over_arrival: refuted
