//! PLDI'15: one barrier used twice by overlapping warps, its two generations kept apart by another
//! barrier.
protocol ordered_reuse

named bar[16]

role one warp {
    arrive bar[0] 64
}

role two warp {
    sync bar[0] 64
    arrive bar[1] 64
    sync bar[0] 64
}

role three warp {
    sync bar[1] 64
    arrive bar[0] 64
}

expect early_completion: proved
expect over_arrival: proved
