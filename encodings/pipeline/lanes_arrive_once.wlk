//! An accumulator in two stages, which W warps empty. The barrier expects all lanes, but one lane of each warp arrives.
protocol lanes_arrive_once

param W in 1..  // epilogue warps
param T in 0..  // tiles

mbarrier acc_full[2] { arrivals: 1 }
mbarrier acc_empty[2] { arrivals: 32 * W }
buffer acc[2]

role mma {
    for t in 0..T {
        wait acc_empty[t % 2] (t / 2 + 1) % 2
        write acc[t % 2]
        arrive acc_full[t % 2]
    }
}

role epilogue[w in 0..W] warp {
    for t in 0..T {
        wait acc_full[t % 2] t / 2 % 2
        read acc[t % 2]
        arrive acc_empty[t % 2]
    }
}

expect deadlock: refuted at W = 1, T = 3
