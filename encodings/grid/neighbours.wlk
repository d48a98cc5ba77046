//! A stencil on a row of CTAs: in each round every CTA tells both neighbours that its boundary is written, and waits for both.
protocol neighbours

param N in 2..
param R in 0..

semaphore from_left[N] = 0
semaphore from_right[N] = 0

grid cta[n in 0..N] resident all {
    for r in 0..R {
        if n > 0 {
            from_right[n - 1] += 1
        }
        if n < N - 1 {
            from_left[n + 1] += 1
        }
        if n > 0 {
            wait from_left[n] >= r + 1
        }
        if n < N - 1 {
            wait from_right[n] >= r + 1
        }
    }
}

expect deadlock: proved
