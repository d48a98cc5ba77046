//! Stream-K whose CTAs draw pieces of work from a counter. Piece `w` is the `w % K`th of tile `w / K`, and the pieces of a tile are
//! added up in their order.
protocol stream_k_drawn

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
        wait turn[w / K] == w % K
        turn[w / K] += 1
    }
}

expect deadlock: proved
