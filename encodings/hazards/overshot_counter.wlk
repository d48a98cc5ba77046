//! Workers count their rounds on one counter, and a watcher waits for the very value after the
//! first round: the counter can go by before it looks.
protocol overshot_counter

param W in 1..
param N in 1..

semaphore rounds = 0

role worker[w in 0..W] {
    for i in 0..N {
        rounds += 1
    }
}

role watcher {
    wait rounds == W
}

expect lapped_wait: refuted at W = 1, N = 2
expect deadlock: refuted at W = 1, N = 2
