//! The same where the first CTA of a block combines the parts: the others may still be writing theirs.
protocol split_kv_first_combines

param B in 1..  // row blocks
param S in 1..  // splits
param R in 1..

buffer partial[B, S]
semaphore arrived[B] = 0
semaphore combined[B] = 0

grid cta[b in 0..B][s in 0..S] launch any resident R {
    write partial[b, s]
    let before = fetch_add.acq_rel.gpu(arrived[b], 1)
    if before == 0 {
        for i in 0..S {
            read partial[b, i]
        }
        combined[b] += 1
    }
}

expect race: refuted at B = 1, S = 2, R = 2
