//! Two CTAs of a cluster exchange halos once per iteration: every thread arrives at its own CTA's
//! barrier and at the peer's, and waits for its own.
protocol jacobi

param T in 1..  // threads per CTA
param N in 0..  // iterations

mbarrier bar[2] { arrivals: 2 * T }

role thread[cta in 0..2][t in 0..T] {
    var phase = 0
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] phase
        phase = phase ^ 1
    }
}

expect deadlock: proved
expect early_completion: refuted at T = 2, N = 2
