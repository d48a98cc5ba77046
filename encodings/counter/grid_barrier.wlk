//! A software grid barrier whose counter only grows. It needs all CTAs resident.
protocol grid_barrier

param G in 1..  // CTAs
param I in 0..  // rounds
param R in 1..  // resident CTAs

semaphore arrived = 0

grid cta[g in 0..G] launch any resident R {
    for i in 0..I {
        arrived += 1
        wait arrived >= G * (i + 1)
    }
}

expect deadlock: refuted at G = 2, I = 1, R = 1
expect deadlock: proved assuming R >= G
