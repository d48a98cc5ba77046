//! Two CTAs of a cluster exchange halos once per iteration: every thread arrives at its own
//! CTA's barrier, writes its part of the peer's halo, arrives at the peer's barrier, waits for its
//! own, and reads. A fast thread's arrival of the next iteration can complete the peer's phase
//! before a slow sibling has arrived: nothing hangs, and the peer reads a halo that is not there.
protocol jacobi_halo

param T in 1..  // threads per CTA
param N in 0..  // iterations

mbarrier bar[2] { arrivals: 2 * T }
buffer halo[2, 2, T]

role thread[cta in 0..2][t in 0..T] {
    var phase = 0
    for i in 0..N {
        arrive bar[cta]
        write halo[1 - cta, phase, t]
        arrive bar[1 - cta]
        wait bar[cta] phase
        read halo[cta, phase, T - 1 - t]
        phase = phase ^ 1
    }
}

expect deadlock: proved
expect early_completion: refuted at T = 2, N = 2
expect race: refuted at T = 2, N = 2
