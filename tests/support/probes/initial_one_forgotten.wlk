//! An initial value of 1 that the turns do not know of.
protocol initial_one_forgotten

param N in 1..
semaphore s = 1

grid cta[n in 0..N] launch ascending resident 1.. {
    wait s == n
    s += 1
}

expect deadlock: refuted
