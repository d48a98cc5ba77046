//! Each CTA leaves its part of a sum and counts itself. Whoever comes last, adds the parts up, sets the counter back for the
//! next round and publishes the sum. The counter is back before anybody can count in the next round.
protocol last_arriver

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
            arrived = 0
            sums += 1
        }
        wait sums >= round + 1
    }
}

expect deadlock: proved
