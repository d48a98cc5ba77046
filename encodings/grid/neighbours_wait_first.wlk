//! neighbours.wlk with the wait for the right neighbour in front of what that neighbour waits for.
protocol neighbours_wait_first

param N in 2..
param R in 0..

semaphore from_left[N] = 0
semaphore from_right[N] = 0

grid cta[n in 0..N] resident all {
    for r in 0..R {
        if n < N - 1 {
            wait from_right[n] >= r + 1
            from_left[n + 1] += 1
        }
        if n > 0 {
            wait from_left[n] >= r + 1
            from_right[n - 1] += 1
        }
    }
}

expect deadlock: refuted at N = 2, R = 1
