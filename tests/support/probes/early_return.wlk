//! CTAs past a limit have nothing to do, and the rank leaves them out.
protocol early_return

param N in 1..
param M in 1..
pattern visits[N, M]
param L in 0..
semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    if n >= L {
        return
    }
    for m in row(visits, n) {
        wait dq[m] == count(k in 0..min(n, L) where visits[k, m])
        dq[m] += 1
    }
}

expect deadlock: proved
