//! The epilogue of FlashAttention-4 uses one barrier twice: first all warps meet, and then they tell one of them that what they wrote
//! is in shared memory. That one counts as one more, so the second generation takes 32 threads more than the first.
protocol epilogue_two_counts

param W in 1..  // other warps of the epilogue

named bar[16]

role rest[w in 0..W] warp {
    sync bar[1] 32 * (W + 1)
    arrive bar[1] 32 * (W + 2)
}

role store warp {
    sync bar[1] 32 * (W + 1)
    arrive bar[1] 32 * (W + 2)
    sync bar[1] 32 * (W + 2)
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
