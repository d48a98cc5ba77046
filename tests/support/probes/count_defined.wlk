//! The rank lock over a pattern that the protocol defines.
protocol count_defined

param N in 1..
param M in 1..
pattern band[n in 0..N, m in 0..M] = n <= m && m <= n + 2
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(band, n) ascending {
        wait dq[m] == count(k in 0..n where band[k, m])
        dq[m] += 1
    }
}

expect deadlock: proved
