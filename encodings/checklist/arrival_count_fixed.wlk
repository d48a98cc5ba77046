//! arrival_count.wlk repaired: all T threads arrive.
protocol arrival_count_fixed

param T in 1..
param N in 1..

mbarrier done { arrivals: T }

role worker[t in 0..T] {
    var phase = 0
    for i in 0..N {
        arrive done
        wait done phase
        phase = phase ^ 1
    }
}

expect deadlock: proved
