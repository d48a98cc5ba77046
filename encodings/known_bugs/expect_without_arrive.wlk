//! tilelang #2566: a loop of a single trip takes another path, which expects the bytes but does not
//! arrive on the barrier that was initialised for one arrival.
protocol expect_without_arrive

param S in 1..=8  // stages
param N in 1..    // trips
param BYTES in 1..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }

role load {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        if N == 1 {
            expect_tx full[p.index] BYTES
        } else {
            arrive_expect_tx full[p.index] BYTES
        }
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

expect deadlock: refuted at N = 1
expect deadlock: proved assuming N >= 2
