//! PLDI'15 (WEFT), listing 1: a producer warp and W consumer warps hand one buffer over with two
//! named barriers.
protocol producer_consumer

param W in 1..  // consumer warps
param N in 0..  // rounds

named bar[16]

role producer warp {
    for i in 0..N {
        sync bar[0] 32 * (W + 1)
        write tile
        arrive bar[1] 32 * (W + 1)
    }
}

role consumer[w in 0..W] warp {
    for i in 0..N {
        arrive bar[0] 32 * (W + 1)
        sync bar[1] 32 * (W + 1)
        read tile
    }
}

expect deadlock: proved
expect early_completion: proved
