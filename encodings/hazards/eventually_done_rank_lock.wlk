//! The rank lock with any row order: every CTA finishes, whatever the pattern.
protocol eventually_done_rank_lock

param N in 1..
param M in 1..

pattern visits[N, M]
semaphore dq[M] = 0

eventually done

let rank(n, m) = count(k in 0..n where visits[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) any order {
        wait dq[m] == rank(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect assertion: proved
