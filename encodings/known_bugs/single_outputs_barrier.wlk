//! ThunderKittens (commit ef569bbb): D output buffers, but one barrier for "an output is ready". The
//! MMA may finish two tiles before the epilogue looks, and the two completions cancel out.
protocol single_outputs_barrier

param D in 1..=4  // output buffers
param T in 0..    // tiles

mbarrier finished[D] { arrivals: 1 }
mbarrier arrived { arrivals: 1 }

role mma {
    for t in 0..T {
        wait finished[t % D] (t / D + 1) % 2
        commit arrived
    }
}

role epilogue {
    for t in 0..T {
        wait arrived t % 2
        arrive finished[t % D]
    }
}

expect deadlock: refuted at D = 2, T = 2
expect deadlock: refuted assuming D >= 2, T >= 2
expect deadlock: proved assuming D <= 1 || T <= 1
expect lapped_wait: refuted at D = 2, T = 2
