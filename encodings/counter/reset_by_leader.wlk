//! A software grid barrier whose counter is cleared: CTA 0 waits until all others have added, sets the counter back,
//! and only then opens the gate for them.
protocol reset_by_leader

param G in 1..  // CTAs
param I in 0..  // rounds

semaphore arrived = 0
semaphore gate = 0

role cta[g in 0..G] {
    for i in 0..I {
        if g == 0 {
            wait arrived == G - 1
            arrived = 0
            gate += 1
        } else {
            arrived += 1
            wait gate >= i + 1
        }
    }
}

expect deadlock: proved
