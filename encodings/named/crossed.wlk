//! Two warps: sync 0 and arrive 1 against sync 1 and arrive 0. Each waits for the other's arrival.
protocol crossed

named bar[16]

role one warp {
    sync bar[0] 64
    arrive bar[1] 64
}

role two warp {
    sync bar[1] 64
    arrive bar[0] 64
}

expect deadlock: refuted
