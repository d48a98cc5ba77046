//! The same where the lock is given back by storing one's own number, not the next.
protocol ticket_lock_same_number

param T in 1..  // threads
param N in 0..  // rounds

semaphore next = 0
semaphore serving = 0

role thread[t in 0..T] {
    repeat N {
        let mine = fetch_add.relaxed(next, 1)
        wait serving == mine
        accumulate total
        st.release.gpu serving = mine
    }
}

expect deadlock: refuted at T = 1, N = 2
