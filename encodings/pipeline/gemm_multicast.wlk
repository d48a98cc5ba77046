//! A persistent GEMM on a cluster of two CTAs. The producer of each CTA loads one half of every tile for both, so
//! the bytes that a CTA's barrier expects come from two CTAs; the consumers of both free a stage. Each producer ends
//! with the wait of CuTe's `producer_tail`: for the last stage that it filled.
protocol gemm_multicast

param S in 1..=8  // pipeline stages
param K in 1..    // k-tiles per tile
param TILES in 0..
param HALF in 1..  // bytes

mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[2, S] { arrivals: 2 }
mbarrier acc_full[2, 2] { arrivals: 1 }
mbarrier acc_empty[2, 2] { arrivals: 1 }

role load[cta in 0..2] {
    var p = producer(S)
    repeat TILES {
        repeat K {
            wait empty[cta, p.index] p.phase
            arrive_expect_tx full[cta, p.index] 2 * HALF
            async copy first completes full[0, p.index] HALF
            async copy second completes full[1, p.index] HALF
            advance p
        }
    }
    repeat S - 1 {
        advance p
    }
    wait empty[cta, p.index] p.phase
}

role math[cta in 0..2] {
    var c = consumer(S)
    var acc = producer(2)
    repeat TILES {
        wait acc_empty[cta, acc.index] acc.phase
        repeat K {
            wait full[cta, c.index] c.phase
            commit empty[0, c.index]
            commit empty[1, c.index]
            advance c
        }
        commit acc_full[cta, acc.index]
        advance acc
    }
}

role store[cta in 0..2] {
    var acc = consumer(2)
    repeat TILES {
        wait acc_full[cta, acc.index] acc.phase
        arrive acc_empty[cta, acc.index]
        advance acc
    }
}

expect deadlock: proved
expect tx_mismatch: proved
