//! The same where the last piece of a tile goes first: it waits for pieces that nobody has drawn.
protocol stream_k_drawn_backwards

param C in 1..  // CTAs
param TILES in 0..
param K in 1..  // pieces of a tile

semaphore next = 0
semaphore turn[TILES] = 0

grid cta[c in 0..C] launch any resident 1.. {
    for _ in 0..TILES * K + 1 {
        let w = fetch_add(next, 1)
        if w >= TILES * K {
            break
        }
        wait turn[w / K] == K - 1 - w % K
        turn[w / K] += 1
    }
}

expect deadlock: refuted at C = 1, TILES = 1, K = 2, R = 1
