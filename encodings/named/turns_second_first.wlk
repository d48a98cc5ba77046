//! turns.wlk where the second warpgroup gives the first turn to itself, and the first one gives it the next.
//! When all rounds are done a turn is left, and the first warpgroup has one less than it waits for.
protocol turns_second_first

param W in 1..  // warps of a warpgroup
param N in 0..  // rounds

named bar[16]

role first[w in 0..W] warp {
    for i in 0..N + 1 {
        sync bar[1] 64 * W
        arrive bar[2] 64 * W
    }
}

role second[w in 0..W] warp {
    arrive bar[2] 64 * W
    for i in 0..N {
        sync bar[2] 64 * W
        arrive bar[1] 64 * W
    }
}

expect deadlock: refuted
