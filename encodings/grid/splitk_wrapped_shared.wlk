//! The same with one semaphore for all tiles: two slices with the same number go at the same time, and one turn is given twice.
protocol splitk_wrapped_shared

param T in 1..  // tiles
param S in 1..  // slices of a tile

semaphore lock = 0

grid cta[t in 0..T][s in 0..S] launch ascending resident 1.. {
    wait lock == s
    accumulate out[t]
    lock = (s + 1) % S
}

expect deadlock: refuted at T = 2, S = 2, R = 3
