//! A reduction over a binary tree of CTAs: each waits for its children, if it has some.
protocol reduction_tree

param N in 1..

semaphore up[N] = 0

grid cta[n in 0..N] resident all {
    if 2 * n + 1 < N {
        wait up[2 * n + 1] >= 1
    }
    if 2 * n + 2 < N {
        wait up[2 * n + 2] >= 1
    }
    up[n] += 1
}

expect deadlock: proved
