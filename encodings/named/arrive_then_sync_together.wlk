//! Both warps wait in each round, and one of them counts twice: it arrives before.
protocol arrive_then_sync_together

param N in 0..

named bar[16]

role one warp {
    for i in 0..N {
        arrive bar[1] 96
        sync bar[1] 96
    }
}

role two warp {
    for i in 0..N {
        sync bar[1] 96
    }
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
