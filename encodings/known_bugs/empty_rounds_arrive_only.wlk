//! vLLM #26026: for an empty work item the compute warps only arrive and loop, while the load warp
//! syncs. Two empty items in a row register a warp twice in one generation: undefined in PTX.
protocol empty_rounds_arrive_only

param W in 1..  // compute warps
param N in 0..  // work items, all of them empty

named bar[16]

role load warp {
    for i in 0..N {
        sync bar[1] 32 * (W + 1)
    }
}

role compute[w in 0..W] warp {
    for i in 0..N {
        arrive bar[1] 32 * (W + 1)
    }
}

expect deadlock: unknown
expect deadlock: proved assuming N <= 1
