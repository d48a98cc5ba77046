//! The same where a CTA takes the part of its own index: a CTA that is resident looks back at one that has not started.
protocol look_back_by_index

param N in 1..  // parts
param R in 1..

semaphore status[N] = 0

grid cta[n in 0..N] launch any resident R {
    status[n] = 1
    for earlier in 0..n descending {
        wait status[earlier] >= 1
        let known = fetch_add.acquire.gpu(status[earlier], 0)
        if known == 2 {
            break
        }
    }
    status[n] = 2
}

expect deadlock: refuted at N = 2, R = 1
