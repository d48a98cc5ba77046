//! bytes_expected.wlk repaired: what is expected is what is delivered.
protocol bytes_expected_fixed

param S in 1..=8
param N in 0..
param BYTES in 1..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] BYTES
        async copy tile[p.index] completes full[p.index] BYTES
        advance p
    }
}

role math {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
expect early_completion: proved
expect tx_mismatch: proved
