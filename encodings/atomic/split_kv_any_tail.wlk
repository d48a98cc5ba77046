//! The same where the last row blocks have only as many splits as there are keys, and the last one is still looked for at S.
protocol split_kv_any_tail

param B in 1..  // row blocks
param S in 1..  // splits
param K in 1..  // splits of the last row block

assume K <= S

semaphore arrived[B] = 0
semaphore combined[B] = 0

grid cta[b in 0..B][s in 0..S] launch any resident 1.. {
    if b == B - 1 && s >= K {
        return
    }
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

expect deadlock: refuted at B = 1, S = 2, K = 1
