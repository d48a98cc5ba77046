//! The same where the counter is set back after the sum is published: a fast CTA has counted itself in the next round
//! already, and its count is lost.
protocol last_arriver_late_reset

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
            arrived = 0
        }
        wait sums >= round + 1
    }
}

expect deadlock: refuted at N = 2, ROUNDS = 2
