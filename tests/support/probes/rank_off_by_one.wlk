//! A rank that counts the CTA itself.
protocol rank_off_by_one

param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == count(k in 0..n + 1 where visits[k, m])
        dq[m] += 1
    }
}

expect deadlock: refuted
