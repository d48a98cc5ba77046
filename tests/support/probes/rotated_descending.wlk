//! Waits for an exact value that later CTAs go past.
protocol rotated_descending

param N in 1..
param M in 1..
semaphore dq[M] = 0
assume N >= 2

grid cta[n in 0..N] launch ascending resident all {
    for i in 0..M {
        wait dq[(n + i) % M] == n
        dq[(n + i) % M] += 1
    }
    for j in 0..M {
        wait dq[j] == n
    }
}

expect deadlock: refuted
