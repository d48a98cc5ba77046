//! As banded, with a window counted one tile too wide.
protocol banded_wrong_start

param N in 1..
param M in 1..
param W in 0..
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in max(0, n - W)..min(M, n + W + 1) {
        wait dq[m] == n - max(0, m - W - 1)
        dq[m] += 1
    }
}

expect deadlock: refuted
