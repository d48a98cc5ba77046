//! The same where the number of earlier CTAs is compared with S: no CTA takes itself for the last one.
protocol split_kv_counts_from_one

param B in 1..  // row blocks
param S in 1..  // splits
param R in 1..

semaphore arrived[B] = 0
semaphore combined[B] = 0

grid cta[b in 0..B][s in 0..S] launch any resident R {
    write partial[b, s]
    let before = fetch_add.acq_rel.gpu(arrived[b], 1)
    if before == S {
        read partial
        arrived[b] = 0
        combined[b] += 1
    }
}

role next_launch {
    for b in 0..B {
        wait combined[b] == 1
        wait arrived[b] == 0
    }
}

expect deadlock: refuted at B = 1, S = 1, R = 1
