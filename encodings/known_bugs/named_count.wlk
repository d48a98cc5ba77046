//! quack #146: the epilogue's load warp waits once for the W warps that load A and B, at a barrier
//! whose count is hard-coded to two warps. Right for one of them, and a hang for four: with an even
//! number of arrivals before it the load warp is left alone. An odd W pairs up: nothing hangs, but
//! the load warp goes on before all have arrived.
protocol named_count

param W in 1..  // warps that load A and B

named bar[16]

role load[w in 0..W] warp {
    arrive bar[2] 64
}

role epilogue_load warp {
    sync bar[2] 64
}

expect deadlock: refuted at W = 2
expect deadlock: proved assuming W == 1
expect early_completion: refuted at W = 2
