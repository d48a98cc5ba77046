//! The halo exchange of jacobi.wlk with the parity hard-coded: the second round waits for a phase
//! that both barriers have left and come back to.
protocol jacobi_fixed_phase

param T in 1..  // threads per CTA
param N in 0..  // iterations

mbarrier bar[2] { arrivals: 2 * T }

role thread[cta in 0..2][t in 0..T] {
    for i in 0..N {
        arrive bar[cta]
        arrive bar[1 - cta]
        wait bar[cta] 0
    }
}

expect deadlock: refuted at T = 1, N = 2
expect deadlock: proved assuming N <= 1
