//! From a checklist for generated kernels: all threads meet at a barrier once per step of the tile
//! scheduler, but one role leaves the loop a step early.
protocol scheduler_step_skipped

param T in 1..  // threads that take every step
param U in 1..  // threads that skip the last one
param W in 1..  // steps

barrier cta { arrivals: T + U }

role worker[t in 0..T] {
    repeat W {
        sync cta
    }
}

role helper[u in 0..U] {
    repeat W - 1 {
        sync cta
    }
}

expect deadlock: refuted at T = 1, U = 1, W = 1
