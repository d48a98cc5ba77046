//! Each visit adds 2.
protocol twice_rank

param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == 2 * rank(n, m)
        dq[m] += 2
    }
}

expect deadlock: proved
