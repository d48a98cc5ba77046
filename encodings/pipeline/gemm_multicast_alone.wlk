//! In `gemm_multicast` each CTA loads its half for itself alone: a barrier expects both halves, and one comes.
protocol gemm_multicast_alone

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
            async copy half completes full[cta, p.index] HALF
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

expect deadlock: refuted at S = 1, TILES = 1
