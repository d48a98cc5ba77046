//! vLLM #26026: for a work item without keys the compute warps return early, arriving at a barrier at
//! which the load warps arrive and wait. Nothing keeps the compute warps from arriving again in the
//! next such item. Each of their arrivals counts, so they complete the first round without the load warps,
//! and the second round is then short of arrivals.
protocol empty_rounds_arrive_only

param W in 1..  // compute warps
param L in 1..  // load warps
param N in 0..  // work items in a row, all of them empty

named bar[16]

role load[w in 0..L] warp {
    for i in 0..N {
        sync bar[1] 32 * (W + L)
    }
}

role compute[w in 0..W] warp {
    for i in 0..N {
        arrive bar[1] 32 * (W + L)
    }
}

expect deadlock: refuted at W = 1, L = 1, N = 2
expect deadlock: proved assuming N <= 1
expect early_completion: refuted
expect over_arrival: proved assuming N <= 1
