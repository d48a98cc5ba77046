//! A GEMM main loop as before TMA: every thread copies its part of a stage with `cp.async`, S - 1 stages
//! ahead, and counts groups. One barrier per k-tile both shows the stage that is read next and frees the
//! one that is filled next.
protocol multistage_copies

param S in 2..=6  // stages
param T in 1..    // threads
param K in 1..    // k-tiles

barrier cta { arrivals: T }
buffer smem[S, T]

role thread[t in 0..T] {
    for s in 0..S - 1 {
        async copy smem[s, t]
        commit_group
    }
    for k in 0..K {
        wait_group S - 2
        sync cta
        for x in 0..T {
            read smem[k % S, x]
        }
        if k + S - 1 < K {
            async copy smem[(k + S - 1) % S, t]
        }
        // Also where there is nothing to copy, so that groups keep counting.
        commit_group
    }
}

expect deadlock: proved
expect race: proved
expect stale_read: proved
