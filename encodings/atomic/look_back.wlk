//! A scan in one pass (Merrill and Garland, 2016): each CTA draws its part from a counter, publishes the part's sum (status
//! 1), and looks back until it meets a part whose prefix is known (status 2). Whoever has drawn a number has started, so no
//! order of launch is needed.
protocol look_back

param N in 1..=3  // parts
param R in 1..=3

semaphore next = 0
semaphore status[N] = 0

grid cta[n in 0..N] launch any resident R {
    let part = fetch_add.relaxed.gpu(next, 1)
    status[part] = 1
    for earlier in 0..part descending {
        wait status[earlier] >= 1
        let known = fetch_add.acquire.gpu(status[earlier], 0)
        if known == 2 {
            break
        }
    }
    status[part] = 2
}

expect deadlock: proved
