//! The producer of `gemm_drained` drains one stage too many: nobody ever frees it.
protocol gemm_drained_late

param S in 1..  // pipeline stages
param K in 1..  // k-tiles per tile
param TILES in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var n = 0
    for tile in 0..TILES {
        for k in 0..K {
            if n >= S {
                wait empty[n % S] (n / S - 1) % 2
            }
            arrive_expect_tx full[n % S] 8192
            async copy smem completes full[n % S] 8192
            n = n + 1
        }
    }
    for m in max(0, n - S)..n + 1 {
        wait empty[m % S] m / S % 2
    }
}

role math {
    var n = 0
    for tile in 0..TILES {
        for k in 0..K {
            wait full[n % S] n / S % 2
            commit empty[n % S]
            n = n + 1
        }
    }
}

expect deadlock: refuted at S = 1, TILES = 0
