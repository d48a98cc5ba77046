//! More bytes delivered than expected. The phase completes too early, and what is left over counts in
//! the next phase of the stage. Nothing hangs while every stage is used once; the surplus grows with
//! every use, and once it exceeds what a use expects, the count is below 0 when the arrival is made and
//! the phase never completes.
protocol bytes_delivered

param S in 1..=8  // stages
param N in 0..    // stage uses
param EXPECTED in 1..
param DELIVERED in 1..

assume EXPECTED < DELIVERED

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

expect deadlock: refuted at S = 1, N = 2, EXPECTED = 1, DELIVERED = 3
expect deadlock: refuted assuming (ceil_div(N, S) - 1) * (DELIVERED - EXPECTED) > EXPECTED
expect deadlock: proved assuming N <= S
expect tx_mismatch: refuted at S = 1, N = 1, EXPECTED = 1, DELIVERED = 2
