//! `gemm_one_role.wlk` where the loop copies half a tile of `a` but expects a whole one: step 2 is never complete.
protocol gemm_one_role_half

param K in 0..  // steps

mbarrier full[3] { arrivals: 1 }
mbarrier multiplied[2] { arrivals: 4 }  // groups of wgmma, one at a time
named cta[1]

role first warp {
    sync cta[0] 128
    if 0 < K {
        arrive_expect_tx full[0] 32768
    }
    sync cta[0] 128
    if 0 < K {
        async copy a completes full[0] 16384
    }
    sync cta[0] 128
    if 0 < K {
        async copy b completes full[0] 16384
    }
    sync cta[0] 128
    if 1 < K {
        arrive_expect_tx full[1] 32768
    }
    sync cta[0] 128
    if 1 < K {
        async copy a completes full[1] 16384
    }
    sync cta[0] 128
    if 1 < K {
        async copy b completes full[1] 16384
    }
    for k in 0..K {
        wait full[k % 3] k / 3 % 2
        sync cta[0] 128
        arrive multiplied[k % 2]
        if k > 0 {
            wait multiplied[(k - 1) % 2] (k - 1) / 2 % 2
        }
        sync cta[0] 128
        if k + 2 < K {
            arrive_expect_tx full[(k + 2) % 3] 32768
        }
        sync cta[0] 128
        if k + 2 < K {
            async copy a completes full[(k + 2) % 3] 8192
        }
        sync cta[0] 128
        if k + 2 < K {
            async copy b completes full[(k + 2) % 3] 16384
        }
    }
    if K > 0 {
        wait multiplied[(K - 1) % 2] (K - 1) / 2 % 2
    }
}

role others[w in 0..3] warp {
    for k in 0..6 {
        sync cta[0] 128
    }
    for k in 0..K {
        wait full[k % 3] k / 3 % 2
        sync cta[0] 128
        arrive multiplied[k % 2]
        if k > 0 {
            wait multiplied[(k - 1) % 2] (k - 1) / 2 % 2
        }
        sync cta[0] 128
        sync cta[0] 128
        sync cta[0] 128
    }
    if K > 0 {
        wait multiplied[(K - 1) % 2] (K - 1) / 2 % 2
    }
}

expect deadlock: refuted at K = 3
