//! CTAs of unknown number, each on a processor of its own: one warp allocates an accumulator, the others read
//! it before it is given back.
protocol tensor_memory_of_ctas

param C in 1..  // CTAs
param W in 1..  // warps that read

pool columns[C] = 512 { release: mandatory }
buffer acc[C] { memory: tensor }
barrier cta[C] { arrivals: W + 1 }

role mma[c in 0..C] warp cluster c {
    acquire columns[c] 256 backing acc[c]
    write acc[c]
    sync cta[c]
    sync cta[c]
    release columns[c] 256 backing acc[c]
}

role write_back[c in 0..C][w in 0..W] warp cluster c {
    sync cta[c]
    read acc[c]
    sync cta[c]
}

expect deadlock: proved
expect resources: proved
expect race: proved
