//! The warp that starts the tensor core does not wait for the warp that allocates.
protocol tensor_memory_early

param W in 1..

pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: W + 1 }

role alloc warp {
    acquire columns 512 backing acc
    sync cta
    release columns 512 backing acc
}

role use[w in 0..W] warp {
    write acc
    sync cta
}

expect resources: refuted at W = 1
