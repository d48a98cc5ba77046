//! The same exchange, but every thread waits for both barriers before it goes on: nobody can
//! arrive for the next iteration while somebody still has to arrive for this one.
protocol jacobi_halo_fixed

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
        wait bar[1 - cta] phase
        read halo[cta, phase, T - 1 - t]
        phase = phase ^ 1
    }
}

expect deadlock: proved
expect early_completion: proved
expect race: proved
