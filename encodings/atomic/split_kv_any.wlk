//! The keys of each row block are split among S CTAs, whatever S is. The last one of a block combines the parts and sets the
//! block's counter back for the next launch. Only a few CTAs are resident at a time.
protocol split_kv_any

param B in 1..  // row blocks
param S in 1..  // splits

semaphore arrived[B] = 0
semaphore combined[B] = 0

grid cta[b in 0..B][s in 0..S] launch any resident 1.. {
    write partial[b, s]
    let before = fetch_add.acq_rel.gpu(arrived[b], 1)
    if before != S - 1 {
        return
    }
    for i in 0..S {
        read partial[b, i]
    }
    arrived[b] = 0
    combined[b] += 1
}

role next_launch {
    for b in 0..B {
        wait combined[b] >= 1
    }
}

expect deadlock: proved
