//! Two warps meet at a barrier, and then both write one address.
protocol both_write

named bar[16]
buffer shared

role warp_of[w in 0..2] warp {
    sync bar[0] 64
    write shared
}

expect race: refuted
expect early_completion: proved
