//! tilelang #2319: a software grid barrier whose counter is set back to 0 by a CTA that has seen it
//! full, while others may not have looked. In the kernel that is the last CTA to arrive, here CTA 0.
//! grid_barrier.wlk is a repair: a counter that only grows.
protocol grid_barrier_reset

param G in 1..  // CTAs, all resident
param I in 0..  // rounds

semaphore arrived = 0

grid cta[g in 0..G] resident all {
    for i in 0..I {
        arrived += 1
        wait arrived == G
        if g == 0 {
            arrived = 0
        }
    }
}

expect deadlock: refuted at G = 2, I = 1
expect deadlock: refuted assuming G >= 2, I >= 1
expect deadlock: proved assuming G <= 1
expect lapped_wait: refuted at G = 2
