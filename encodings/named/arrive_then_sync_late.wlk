//! arrive_then_sync.wlk with a second warp that waits at the same barrier: the first warp completes the generation by itself, and
//! the second is alone in the next one. Or the second comes first, and the first is alone. An H100 hangs.
protocol arrive_then_sync_late

named bar[16]

role one warp {
    arrive bar[1] 64
    sync bar[1] 64
}

role two warp {
    sync bar[1] 64
}

expect deadlock: refuted
expect over_arrival: proved
expect early_completion: refuted
