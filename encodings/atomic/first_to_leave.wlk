//! The same, but the first to leave sets the counter back: others may not have seen its last value.
protocol first_to_leave

param B in 1..  // groups
param N in 1..  // CTAs of a group

semaphore arrived[B] = 0
semaphore left[B] = 0

grid cta[b in 0..B][n in 0..N] launch any resident all {
    arrived[b] += 1
    wait arrived[b] >= N
    let t = fetch_add.acq_rel.gpu(left[b], 1)
    if t == 0 {
        arrived[b] = 0
        left[b] = 0
    }
}

expect deadlock: refuted at B = 1, N = 2
