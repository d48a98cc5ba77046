//! The four warps that use barrier 2 twice, as four groups of warps, round after round.
protocol reused_barrier_rounds

param W in 1..  // warps per group
param N in 0..  // rounds
named bar[16]

role one[w in 0..W] warp {
    for r in 0..N {
        arrive bar[2] 64 * W
        arrive bar[0] 64 * W
        sync bar[5] 128 * W
    }
}

role two[w in 0..W] warp {
    for r in 0..N {
        sync bar[0] 64 * W
        sync bar[3] 64 * W
        sync bar[2] 64 * W
        sync bar[5] 128 * W
    }
}

role three[w in 0..W] warp {
    for r in 0..N {
        sync bar[1] 64 * W
        arrive bar[3] 64 * W
        arrive bar[2] 64 * W
        sync bar[5] 128 * W
    }
}

role four[w in 0..W] warp {
    for r in 0..N {
        sync bar[2] 64 * W
        arrive bar[1] 64 * W
        sync bar[5] 128 * W
    }
}

expect deadlock: proved
expect early_completion: proved
