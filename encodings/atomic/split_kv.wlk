//! The keys of each row block are split among S CTAs. The last one of a block combines the parts and sets the block's counter
//! back for the next launch. No CTA waits for another, so any number of them may be resident.
protocol split_kv

param B in 1..=2  // row blocks
param S in 1..=2  // splits
param R in 1..=4

buffer partial[B, S]
semaphore arrived[B] = 0
semaphore combined[B] = 0

grid cta[b in 0..B][s in 0..S] launch any resident R {
    write partial[b, s]
    let before = fetch_add.acq_rel.gpu(arrived[b], 1)
    if before == S - 1 {
        for i in 0..S {
            read partial[b, i]
        }
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

expect deadlock: proved
expect race: proved
