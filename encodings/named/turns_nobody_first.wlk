//! turns.wlk without the first turn: both warpgroups wait for the other one.
protocol turns_nobody_first

param W in 1..  // warps of a warpgroup
param N in 0..  // rounds

named bar[16]

role first[w in 0..W] warp {
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

expect deadlock: refuted
