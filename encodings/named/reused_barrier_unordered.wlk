//! reused_barrier.wlk with the third warp's first two operations exchanged: its arrival on barrier 3
//! no longer waits for the first use of barrier 2.
protocol reused_barrier_unordered

named bar[16]

role one warp {
    arrive bar[2] 64
    arrive bar[0] 64
}

role two warp {
    sync bar[0] 64
    sync bar[3] 64
    sync bar[2] 64
}

role three warp {
    arrive bar[3] 64
    sync bar[1] 64
    arrive bar[2] 64
}

role four warp {
    sync bar[2] 64
    arrive bar[1] 64
}

expect deadlock: refuted
expect early_completion: refuted
