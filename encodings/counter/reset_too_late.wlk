//! The same, but the gate is opened before the counter is set back: a fast CTA adds for the next round in between,
//! and what it added is lost.
protocol reset_too_late

param G in 1..  // CTAs
param I in 0..  // rounds

semaphore arrived = 0
semaphore gate = 0

role cta[g in 0..G] {
    for i in 0..I {
        if g == 0 {
            wait arrived == G - 1
            gate += 1
            arrived = 0
        } else {
            arrived += 1
            wait gate >= i + 1
        }
    }
}

expect deadlock: refuted at G = 2, I = 2
