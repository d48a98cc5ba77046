//! Groups of CTAs meet once, at a counter that has to be 0 again for the next launch. Whoever leaves last sets it back: by then
//! everybody has seen its last value.
protocol last_to_leave

param B in 1..  // groups
param N in 1..  // CTAs of a group

semaphore arrived[B] = 0
semaphore left[B] = 0

grid cta[b in 0..B][n in 0..N] launch any resident all {
    arrived[b] += 1
    wait arrived[b] >= N
    let t = fetch_add.acq_rel.gpu(left[b], 1)
    if t == N - 1 {
        arrived[b] = 0
        left[b] = 0
    }
}

expect deadlock: proved
