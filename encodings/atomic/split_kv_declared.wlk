//! The keys of each row block are split among S CTAs, and the parts are declared. The next launch waits until each block was
//! combined exactly once.
protocol split_kv_declared

param B in 1..  // row blocks
param S in 1..  // splits

semaphore arrived[B] = 0
semaphore combined[B] = 0
buffer partial[B, S]

grid cta[b in 0..B][s in 0..S] launch any resident 1.. {
    write partial[b, s]
    let t = fetch_add.acq_rel.gpu(arrived[b], 1)
    if t == S - 1 {
        for i in 0..S {
            read partial[b, i]
        }
        arrived[b] = 0
        combined[b] += 1
    }
}

role next_launch[b in 0..B] {
    wait combined[b] == 1
}

expect deadlock: proved
