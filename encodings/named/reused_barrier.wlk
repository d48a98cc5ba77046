//! PLDI'15 (WEFT): four warps that use barrier 2 twice, in an order that keeps its two generations
//! apart.
protocol reused_barrier

named bar[16]

role one warp {
    arrive bar[2] 64
    arrive bar[0] 64
}

role two warp {
    sync bar[0] 64
    sync bar[3] 64
    sync bar[2] 64
}

role three warp {
    sync bar[1] 64
    arrive bar[3] 64
    arrive bar[2] 64
}

role four warp {
    sync bar[2] 64
    arrive bar[1] 64
}

expect deadlock: proved
expect early_completion: proved
