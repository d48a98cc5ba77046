//! From a checklist for generated kernels: the barrier expects an arrival of each of T threads, as
//! 128, but only one of them arrives.
protocol arrival_count

param T in 1..
param N in 1..

mbarrier done { arrivals: T }

role worker[t in 0..T] {
    var phase = 0
    for i in 0..N {
        if t == 0 {
            arrive done
        }
        wait done phase
        phase = phase ^ 1
    }
}

expect deadlock: refuted at T = 2, N = 1
expect deadlock: proved assuming T <= 1
