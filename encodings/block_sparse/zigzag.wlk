//! Dense accumulation, forward at even query blocks and backward at odd ones.
protocol zigzag

param N in 1..  // key blocks
param M in 1..  // query blocks

semaphore dq[M] = 0

grid cta[n in 0..N] launch any resident 1.. {
    for m in 0..M {
        wait dq[m] == if m % 2 == 0 then n else N - 1 - n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 2, M = 1, R = 1
expect deadlock: proved assuming R >= N
