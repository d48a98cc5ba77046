//! Deterministic dK and dV accumulation over grouped query heads.
//!
//! G query heads share a key head. Each CTA adds to its key block once, after its loop, in
//! the order of the heads of the group. Heads start in ascending order.
protocol grouped_heads

param N in 1..   // key blocks
param HK in 1..  // key heads
param G in 1..   // query heads that share a key head

semaphore dk[N, HK] = 0

grid cta[h in 0..HK * G][n in 0..N] launch ascending resident 1.. {
    wait dk[n, h / G] == h % G
    accumulate dK[n, h / G]
    dk[n, h / G] += 1
}

expect deadlock: proved
