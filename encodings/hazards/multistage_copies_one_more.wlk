//! The same, waiting for all but the last S - 1 groups: the group of the stage that is read next is among
//! those.
protocol multistage_copies_one_more

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
        wait_group S - 1
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

expect race: refuted at S = 2, T = 1, K = 1
