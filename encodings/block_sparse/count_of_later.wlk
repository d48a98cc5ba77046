//! The reversed rank written as what it is: the number of later visitors.
protocol count_of_later

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

grid cta[n in 0..N] launch descending resident 1.. {
    for m in row(visits, n) any order {
        wait dq[m] == count(k in n + 1..N where visits[k, m])
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
