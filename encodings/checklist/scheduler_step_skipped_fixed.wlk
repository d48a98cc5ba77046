//! scheduler_step_skipped.wlk repaired: everybody takes every step.
protocol scheduler_step_skipped_fixed

param T in 1..
param U in 1..
param W in 1..

barrier cta { arrivals: T + U }

role worker[t in 0..T] {
    repeat W {
        sync cta
    }
}

role helper[u in 0..U] {
    repeat W {
        sync cta
    }
}

expect deadlock: proved
