//! Three arrivals with a count of 64 complete a generation and leave one over, which the next warp that waits makes use of. It does
//! not matter who arrives: here the same warp, or three.
protocol left_over

param three in 0..=1

named bar[16]

role again warp {
    if three == 0 {
        arrive bar[1] 64
        arrive bar[1] 64
        arrive bar[1] 64
    }
}

role once[w in 0..3] warp {
    if three == 1 {
        arrive bar[1] 64
    }
}

role wait_for_it warp {
    sync bar[1] 64
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: refuted
