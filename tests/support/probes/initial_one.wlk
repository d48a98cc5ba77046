//! The rank lock from an initial value of 1.
protocol initial_one

param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 1
let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == rank(n, m) + 1
        dq[m] += 1
    }
}

expect deadlock: proved
