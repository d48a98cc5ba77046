//! Dense accumulation whose turns rotate with the tile.
//!
//! At tile m the CTA with (n + m) % N = 0 goes first, so no single order on the CTAs suits every
//! tile. A variant of deterministic attention scheduling that spreads who goes first; safe only
//! if the whole grid is resident.
protocol rotated_turns

param N in 1..  // key blocks
param M in 1..  // query blocks

semaphore dq[M] = 0

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in 0..M {
        wait dq[m] == (n + m) % N
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: refuted at N = 2, M = 2, R = 1
expect deadlock: proved assuming R >= N
