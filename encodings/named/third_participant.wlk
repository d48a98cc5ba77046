//! PLDI'15: an arrival can join a generation it was not meant for. Whether warp 4's arrival or warp
//! 1's completes barrier 0 first decides whether all get through.
protocol third_participant

named bar[16]

role one warp {
    arrive bar[0] 64
}

role two warp {
    sync bar[0] 64
    sync bar[0] 64
}

role three warp {
    sync bar[1] 64
    arrive bar[0] 64
}

role four warp {
    sync bar[1] 64
}

expect deadlock: refuted
expect early_completion: refuted
