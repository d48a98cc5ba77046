//! An accumulator in two stages, which W warps empty. Each warp arrives for its 32 lanes at once.
protocol lanes_arrive

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
        arrive acc_empty[t % 2] 32
    }
}

expect deadlock: proved
expect over_arrival: proved
expect race: proved
