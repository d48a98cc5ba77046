//! The same where the counter is not set back: in the second round nobody reads N - 1.
protocol last_arriver_no_reset

param N in 1..  // CTAs
param ROUNDS in 0..

semaphore arrived = 0
semaphore sums = 0

grid cta[n in 0..N] launch any resident all {
    for round in 0..ROUNDS {
        write partial[n]
        let t = fetch_add.acq_rel.gpu(arrived, 1)
        if t == N - 1 {
            read partial
            sums += 1
        }
        wait sums >= round + 1
    }
}

expect deadlock: refuted at N = 1, ROUNDS = 2
