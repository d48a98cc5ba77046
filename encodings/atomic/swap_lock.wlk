//! A lock that is taken by compare-and-swap, tried until it succeeds, and given back by exchange.
protocol swap_lock

param T in 1..=3  // threads
param N in 0..=3  // rounds

semaphore lock = 0

role thread[t in 0..T] {
    repeat N {
        wait.acquire.gpu compare_and_swap(lock, 0, 1)
        accumulate total
        let held = exchange.release.gpu(lock, 0)
        if held != 1 {
            // Somebody else gave it back.
            return
        }
    }
}

expect deadlock: proved
