//! One warp takes all columns of tensor memory: none are left while it has them, and never fewer.
protocol asserted_pool

param W in 1..=4  // warps

pool columns = 512
barrier cta { arrivals: W }

invariant columns >= 0 && columns <= 512

role alloc[w in 0..W] warp {
    if w == 0 {
        acquire columns 512
        assert columns == 0
    }
    sync cta
    if w == 0 {
        release columns 512
    }
}

expect assertion: proved
