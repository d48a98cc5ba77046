//! empty_rounds_arrive_only.wlk repaired: everybody arrives and waits.
protocol empty_rounds_arrive_only_fixed

param W in 1..
param L in 1..
param N in 0..

named bar[16]

role load[w in 0..L] warp {
    for i in 0..N {
        sync bar[1] 32 * (W + L)
    }
}

role compute[w in 0..W] warp {
    for i in 0..N {
        sync bar[1] 32 * (W + L)
    }
}

expect deadlock: proved
