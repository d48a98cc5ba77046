//! Grouped query heads in reverse order under an ascending launch.
//!
//! As grouped_heads, but the turns count down while the heads start in ascending order: the
//! first head of a group waits for the last. Safe only when the whole grid is resident.
protocol grouped_heads_reversed

param N in 1..   // key blocks
param HK in 1..  // key heads
param G in 1..   // query heads that share a key head

semaphore dk[N, HK] = 0

grid cta[h in 0..HK * G][n in 0..N] launch ascending resident 1.. {
    wait dk[n, h / G] == G - 1 - h % G
    accumulate dK[n, h / G]
    dk[n, h / G] += 1
}

expect deadlock: refuted at N = 1, HK = 1, G = 2, R = 1
expect deadlock: proved assuming R >= N * HK * G
