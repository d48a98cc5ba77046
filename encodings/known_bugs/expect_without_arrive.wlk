//! tilelang #2566: on the path of a single trip the bytes are expected, but nobody arrives on the
//! barrier that was initialised for one arrival.
protocol expect_without_arrive

param N in 1..  // trips
param BYTES in 1..

mbarrier full { arrivals: 1 }

role load {
    if N == 1 {
        expect_tx full BYTES
    } else {
        arrive_expect_tx full BYTES
    }
    async copy tile completes full BYTES
}

role math {
    wait full 0
}

expect deadlock: refuted at N = 1
expect deadlock: proved assuming N >= 2
