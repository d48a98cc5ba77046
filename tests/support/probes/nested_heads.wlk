//! One CTA goes through the heads, with a pattern per head.
protocol nested_heads

param H in 1..
param N in 1..
param M in 1..
pattern visits[H, N, M]
semaphore dq[H, M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for h in 0..H {
        for m in row(visits, h, n) {
            wait dq[h, m] == count(k in 0..n where visits[h, k, m])
            dq[h, m] += 1
        }
    }
}

expect deadlock: proved
