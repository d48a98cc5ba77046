//! A persistent GEMM whose producer skips the waits of the first round and drains its ring before it
//! leaves: the waits that it left out are made up for, so that no barrier of the ring is used after the CTA
//! has ended.
protocol gemm_drained

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
    for m in max(0, n - S)..n {
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

expect deadlock: proved
