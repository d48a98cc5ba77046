//! The guard that gemm_guard_published should have had: wait from the Q-th stage use on.
protocol gemm_guard_exact

param T in 0..    // tiles
param K in 1..    // k-tiles per tile
param Q in 1..=8  // pipeline stages

mbarrier full[Q] { arrivals: 1 }
mbarrier empty[Q] { arrivals: 1 }
buffer smem[Q]

role load {
    for tile in 0..T {
        for k in 0..K {
            var it = tile * K + k
            if tile * K + k >= Q {
                wait empty[it % Q] max(it - Q, 0) / Q % 2
            }
            write smem[it % Q]
            arrive full[it % Q]
        }
    }
}

role mma {
    for tile in 0..T {
        for k in 0..K {
            var it = tile * K + k
            wait full[it % Q] it / Q % 2
            read smem[it % Q]
            arrive empty[it % Q]
        }
    }
}

expect deadlock: proved
expect early_completion: proved
