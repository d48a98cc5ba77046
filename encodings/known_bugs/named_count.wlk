//! quack #146: the barrier is told 64 threads, while n + 1 warps take part.
protocol named_count

param W in 1..  // further warps

named bar[16]

role leader warp {
    sync bar[2] 64
}

role others[w in 0..W] warp {
    sync bar[2] 64
}

expect deadlock: refuted at W = 2
expect deadlock: proved assuming W == 1
