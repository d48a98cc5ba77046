//! Serial split-K: the CTAs of a tile add up in the order of their slices, and the last one sets the semaphore back for the next launch.
protocol splitk_wrapped

param T in 1..  // tiles
param S in 1..  // slices of a tile

semaphore lock[T] = 0

grid cta[t in 0..T][s in 0..S] launch ascending resident 1.. {
    wait lock[t] == s
    accumulate out[t]
    lock[t] = (s + 1) % S
}

expect deadlock: proved
