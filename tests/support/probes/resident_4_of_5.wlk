//! Turns from the end, with one place too few for the largest grid.
protocol resident_4_of_5

param N in 1..
assume N <= 5
semaphore s = 0

grid cta[n in 0..N] launch ascending resident 4 {
    wait s == N - 1 - n
    s += 1
}

expect deadlock: refuted
