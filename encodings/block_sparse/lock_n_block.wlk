//! Deterministic block-sparse dQ accumulation with lock = n.
//!
//! Each CTA n adds its share to every tile m it visits, in turn: it waits until the
//! semaphore of m equals its own block index. Nobody adds in place of a CTA that does not
//! visit m, so the turn of a later visitor never comes. Reported as flash-attention #2253.
//! The least hanging input is two key blocks, one query block, visited by block 1 only.
protocol lock_n_block

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern visits[N, M]

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(visits, n) {
        wait dq[m] == n
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 2, M = 1
