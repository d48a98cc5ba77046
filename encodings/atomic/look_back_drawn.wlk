//! A scan in one pass whose CTAs draw their parts from a counter and wait for the sums of all parts before. Whoever has drawn a
//! number has started, so no order of launch is needed, however few CTAs are resident.
protocol look_back_drawn

param N in 1..  // parts

semaphore next = 0
semaphore status[N] = 0

grid cta[n in 0..N] launch any resident 1.. {
    let part = fetch_add.relaxed.gpu(next, 1)
    for earlier in 0..part descending {
        wait status[earlier] >= 1
    }
    status[part] += 1
}

expect deadlock: proved
