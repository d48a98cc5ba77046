//! The epilogue of FlashAttention-4: all warps of a tile arrive when what they wrote is in shared memory, and one of them then waits
//! for all, as one more warp, and stores the tile. It counts twice: W + 1 warps come, of which W are different ones.
//! Before the next tile is written, all meet.
protocol epilogue_store

param W in 1..  // warps of the epilogue
param N in 0..  // tiles

named bar[16]

role epilogue[w in 0..W] warp {
    for i in 0..N {
        arrive bar[1] 32 * (W + 1)
        if w == 0 {
            sync bar[1] 32 * (W + 1)
        }
        sync bar[2] 32 * W
    }
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
