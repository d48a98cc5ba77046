//! One warp arrives twice in a generation of 96 threads, and another one waits: each arrival counts. Where several rounds follow
//! each other something has to keep them apart, here a barrier on the way back.
protocol arrive_twice

param N in 0..

named bar[16]

role give warp {
    for i in 0..N {
        arrive bar[1] 96
        arrive bar[1] 96
        sync bar[2] 64
    }
}

role take warp {
    for i in 0..N {
        sync bar[1] 96
        sync bar[2] 64
    }
}

expect deadlock: proved
expect over_arrival: proved
expect early_completion: proved
