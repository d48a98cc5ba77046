//! The same where a CTA waits for the part behind its own: whoever draws that need not have started.
protocol look_back_drawn_later

param N in 1..  // parts

semaphore next = 0
semaphore status[N] = 0

grid cta[n in 0..N] launch any resident 1.. {
    let part = fetch_add.relaxed.gpu(next, 1)
    if part + 1 < N {
        wait status[part + 1] >= 1
    }
    status[part] += 1
}

expect deadlock: refuted at N = 2, R = 1
