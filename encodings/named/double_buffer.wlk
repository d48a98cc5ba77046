//! PLDI'15 (WEFT), listing 2: the same with two buffers. Barriers 0 and 1 say that a buffer is
//! empty, 2 and 3 that it is full. The consumers' last arrivals are left over at the end.
protocol double_buffer

param W in 1..  // consumer warps
param N in 0..  // pairs of rounds

named bar[16]

role producer warp {
    for i in 0..N {
        sync bar[0] 32 * (W + 1)
        write tile[0]
        arrive bar[2] 32 * (W + 1)
        sync bar[1] 32 * (W + 1)
        write tile[1]
        arrive bar[3] 32 * (W + 1)
    }
}

role consumer[w in 0..W] warp {
    arrive bar[0] 32 * (W + 1)
    arrive bar[1] 32 * (W + 1)
    for i in 0..N {
        sync bar[2] 32 * (W + 1)
        read tile[0]
        arrive bar[0] 32 * (W + 1)
        sync bar[3] 32 * (W + 1)
        read tile[1]
        arrive bar[1] 32 * (W + 1)
    }
}

expect deadlock: proved
expect early_completion: proved
expect over_arrival: proved
