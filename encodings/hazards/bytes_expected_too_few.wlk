//! A stage expects fewer bytes than the two copies into it bring: the phase completes while the
//! rest is still under way, and the surplus counts against the next phase.
protocol bytes_expected_too_few

param N in 0..

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
buffer a
buffer b

role load {
    var p = producer(1)
    for i in 0..N {
        wait empty p.phase
        arrive_expect_tx full 1024
        async copy a completes full 1024
        async copy b completes full 1024
        advance p
    }
}

role math {
    var c = consumer(1)
    for i in 0..N {
        wait full c.phase
        read a
        read b
        arrive empty
        advance c
    }
}

expect tx_mismatch: refuted at N = 1
expect race: refuted at N = 1
expect early_completion: refuted at N = 1
