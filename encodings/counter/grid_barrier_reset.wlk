//! tilelang #2319: a software grid barrier whose counter CTA 0 sets back to 0 while others may not
//! have seen it full.
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
