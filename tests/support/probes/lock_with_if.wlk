//! Turns written with conditional expressions.
protocol lock_with_if

param N in 1..
param M in 1..
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == if m == 0 then n else if n == 0 then 0 else max(n, 1)
        dq[m] += 1
    }
}

expect deadlock: proved
