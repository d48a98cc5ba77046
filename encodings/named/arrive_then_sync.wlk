//! A warp that arrives at a named barrier and then waits there in the same generation brings 64 threads: flash-attention #1389,
//! where the epilogue of FlashAttention-4 does so. Here the count is met by one warp alone, any number of times. An H100 does
//! the same (docs/crosschecks.md).
protocol arrive_then_sync

param N in 0..

named bar[16]

role alone warp {
    for i in 0..N {
        arrive bar[1] 64
        sync bar[1] 64
    }
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
