//! The shift schedule: CTA n starts at query block n and goes around.
//!
//! In step i CTA n works on query block (n + i) % N, and that step is its turn there: nobody ever
//! waits long, because in each step every CTA is at another block. Safe only if the whole grid is
//! resident.
protocol shifted_schedule

param N in 1..  // key blocks, and as many query blocks

semaphore dq[N] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in n..N {
        wait dq[m] == m - n
        accumulate dQ[m]
        dq[m] += 1
    }
    for m in 0..n {
        wait dq[m] == N + m - n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 2, R = 1
expect deadlock: proved assuming R >= N
