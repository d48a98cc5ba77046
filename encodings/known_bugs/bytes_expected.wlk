//! More bytes expected than delivered: the phase never completes.
protocol bytes_expected

param S in 1..=8  // stages
param N in 0..    // stage uses
param EXPECTED in 1..
param DELIVERED in 1..

assume EXPECTED >= DELIVERED

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] EXPECTED
        async copy tile[p.index] completes full[p.index] DELIVERED
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

expect deadlock: refuted at S = 1, N = 1, EXPECTED = 2, DELIVERED = 1
expect deadlock: refuted assuming EXPECTED > DELIVERED, N >= 1
expect deadlock: proved assuming EXPECTED == DELIVERED
expect tx_mismatch: refuted at S = 1, N = 1
