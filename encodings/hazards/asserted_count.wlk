//! Threads count the rounds they have done between two barriers: after the second one everybody's
//! addition of the round is there and none of the next.
protocol asserted_count

param T in 1..  // threads
param N in 0..  // rounds

barrier cta { arrivals: T }
semaphore done = 0

invariant done <= T * N

role thread[t in 0..T] {
    for i in 0..N {
        sync cta
        done += 1
        sync cta
        assert done == T * (i + 1)
    }
}

expect assertion: proved
