//! Two warpgroups of FlashAttention take turns, so that one multiplies while the other one computes exponentials. Each waits at a
//! barrier of its own for the other. The first turn has no predecessor, so the first warpgroup gives it to itself.
protocol turns

param W in 1..  // warps of a warpgroup
param N in 0..  // rounds

named bar[16]

role first[w in 0..W] warp {
    arrive bar[1] 64 * W
    for i in 0..N {
        sync bar[1] 64 * W
        arrive bar[2] 64 * W
    }
}

role second[w in 0..W] warp {
    for i in 0..N {
        sync bar[2] 64 * W
        arrive bar[1] 64 * W
    }
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
