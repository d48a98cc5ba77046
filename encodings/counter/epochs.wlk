//! GPUs in a ring: each puts a buffer to the next one, epoch by epoch, and reuses it once it has been read.
protocol epochs

param G in 1..  // GPUs
param E in 0..  // epochs

semaphore flag[G] = 0
semaphore ack[G] = 0

role put[g in 0..G] gpu g {
    for e in 0..E {
        wait ack[g] >= e
        flag[(g + 1) % G] += 1
    }
}

role get[g in 0..G] gpu g {
    for e in 0..E {
        wait flag[g] >= e + 1
        ack[(g + G - 1) % G] += 1
    }
}

expect deadlock: proved
