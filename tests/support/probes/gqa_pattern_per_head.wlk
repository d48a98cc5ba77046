//! A pattern per query head for dQ, grouped heads for dK.
protocol gqa_pattern_per_head

param HK in 1..
param G in 1..
param N in 1..
param M in 1..
pattern visits[HK * G, N, M]
semaphore dq[HK * G, M] = 0
semaphore dk[N, HK] = 0
let rank(h, n, m) = count(k in 0..n where visits[h, k, m])

grid cta[h in 0..HK * G][n in 0..N] launch ascending resident 1.. {
    for m in row(visits, h, n) {
        wait dq[h, m] == rank(h, n, m)
        dq[h, m] += 1
    }
    wait dk[n, h / G] == h % G
    dk[n, h / G] += 1
}

expect deadlock: proved
