//! The same where a thread that finds nothing to do leaves without giving the lock back.
protocol swap_lock_early_exit

param T in 1..  // threads

semaphore lock = 0

role thread[t in 0..T] {
    wait.acquire.gpu compare_and_swap(lock, 0, 1)
    if t == 0 {
        return
    }
    accumulate total
    lock = 0
}

expect deadlock: refuted at T = 2
