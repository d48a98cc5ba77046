//! Two loops whose turns each forget the other's.
protocol mask_full_separate

param N in 1..
param M in 1..
pattern part[N, M]
pattern full[N, M]
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(part, n) {
        wait dq[m] == count(k in 0..n where part[k, m])
        dq[m] += 1
    }
    for i in row(full, n) {
        wait dq[i] == count(k in 0..n where full[k, i])
        dq[i] += 1
    }
}

expect deadlock: refuted
