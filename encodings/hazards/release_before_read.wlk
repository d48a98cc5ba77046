//! The consumer hands a slot back before it reads it.
protocol release_before_read

param S in 1..=8  // pipeline stages
param C in 1..    // consumer threads
param N in 0..    // uses

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

role consumer[t in 0..C] {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        read smem[c.index]
        advance c
    }
}

expect race: refuted at S = 1, C = 1, N = 2
expect early_completion: proved
