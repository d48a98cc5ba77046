//! empty_rounds_arrive_only.wlk repaired: everybody syncs.
protocol empty_rounds_arrive_only_fixed

param W in 1..
param N in 0..

named bar[16]

role load warp {
    for i in 0..N {
        sync bar[1] 32 * (W + 1)
    }
}

role compute[w in 0..W] warp {
    for i in 0..N {
        sync bar[1] 32 * (W + 1)
    }
}

expect deadlock: proved
