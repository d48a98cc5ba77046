//! A lock by tickets: whoever draws a number waits until it is served, and serves the next one.
protocol ticket_lock

param T in 1..=4  // threads
param N in 0..=2  // rounds

semaphore next = 0
semaphore serving = 0

role thread[t in 0..T] {
    repeat N {
        let mine = fetch_add.relaxed(next, 1)
        wait serving == mine
        accumulate total
        red.release.gpu serving += 1
    }
}

expect deadlock: proved
expect lapped_wait: proved
