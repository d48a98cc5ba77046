//! single_outputs_barrier.wlk repaired: a barrier for each buffer.
protocol single_outputs_barrier_fixed

param D in 1..=4
param T in 0..

mbarrier finished[D] { arrivals: 1 }
mbarrier arrived[D] { arrivals: 1 }

role mma {
    for t in 0..T {
        wait finished[t % D] (t / D + 1) % 2
        commit arrived[t % D]
    }
}

role epilogue {
    for t in 0..T {
        wait arrived[t % D] t / D % 2
        arrive finished[t % D]
    }
}

expect deadlock: proved
