//! epochs.wlk with a producer that waits for the acknowledgement of the epoch that it is about to send.
protocol epochs_acked_late

param G in 1..  // GPUs
param E in 0..  // epochs

semaphore flag[G] = 0
semaphore ack[G] = 0

role put[g in 0..G] gpu g {
    for e in 0..E {
        wait ack[g] >= e + 1
        flag[(g + 1) % G] += 1
    }
}

role get[g in 0..G] gpu g {
    for e in 0..E {
        wait flag[g] >= e + 1
        ack[(g + G - 1) % G] += 1
    }
}

expect deadlock: refuted at G = 1, E = 1
