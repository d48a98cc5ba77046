//! The same with one barrier a round: a fast thread has counted the next round already.
protocol asserted_count_one_barrier

param T in 1..  // threads
param N in 0..  // rounds

barrier cta { arrivals: T }
semaphore done = 0

role thread[t in 0..T] {
    for i in 0..N {
        done += 1
        sync cta
        assert done == T * (i + 1)
    }
}

expect assertion: refuted at T = 2, N = 2
