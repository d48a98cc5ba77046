//! Turns from the end, in any launch order, with at most four CTAs that all fit.
protocol resident_4

param N in 1..
param M in 1..
assume N <= 4
semaphore dq[M] = 0

grid cta[n in 0..N] launch any resident 4 {
    for m in 0..M {
        wait dq[m] == N - 1 - n
        dq[m] += 1
    }
}

expect deadlock: proved
