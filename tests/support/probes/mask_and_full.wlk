//! Partly masked and full tiles in two loops, each tile in one of them.
protocol mask_and_full

param N in 1..
param M in 1..
pattern part[N, M]
pattern full[N, M]
semaphore dq[M] = 0
let rank(n, m) = count(k in 0..n where part[k, m] || full[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(part, n) {
        if !full[n, m] {
            wait dq[m] == rank(n, m)
            dq[m] += 1
        }
    }
    for i in row(full, n) {
        wait dq[i] == rank(n, i)
        dq[i] += 1
    }
}

expect deadlock: proved
