//! A ring of S stages between a producer and C consumer warps: a stage is free again when all
//! consumers have released it.
protocol ring

param S in 1..=16  // stages
param C in 1..     // consumer warps
param N in 0..     // stage uses

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: C }
buffer smem[S]

role producer {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        write smem[p.index]
        arrive full[p.index]
        advance p
    }
}

role consumer[c in 0..C] {
    var p = consumer(S)
    for i in 0..N {
        wait full[p.index] p.phase
        read smem[p.index]
        arrive empty[p.index]
        advance p
    }
}

expect deadlock: proved
expect early_completion: proved
expect early_pass: proved
