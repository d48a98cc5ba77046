//! Rank lock in which a CTA with an empty row leaves at once.
protocol early_exit

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    if count(m in 0..M where visits[n, m]) == 0 {
        return
    }
    for m in row(visits, n) any order {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
