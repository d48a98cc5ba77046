//! CTAs meet once in each round, at a counter of that round. Whoever comes last adds the parts up and opens the gate for all.
protocol last_arriver_rounds

param N in 1..  // CTAs
param ROUNDS in 0..

semaphore arrived[ROUNDS] = 0
semaphore gate = 0

grid cta[n in 0..N] launch any resident all {
    for round in 0..ROUNDS {
        write partial[n]
        let t = fetch_add.acq_rel.gpu(arrived[round], 1)
        if t == N - 1 {
            read partial
            gate += 1
        }
        wait gate >= round + 1
    }
}

expect deadlock: proved
