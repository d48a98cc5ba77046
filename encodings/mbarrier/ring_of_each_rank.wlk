//! Each rank has a ring of S stages of its own, in one array: its stages are numbered behind those of the ranks before it.
protocol ring_of_each_rank

param R in 1..    // ranks
param S in 1..=4  // stages
param K in 0..

mbarrier full[R * S] { arrivals: 1 }
mbarrier empty[R * S] { arrivals: 1 }
buffer smem[R * S]

role load[r in 0..R] {
    var p = producer(S)
    repeat K {
        let slot = r * S + p.index
        wait empty[slot] p.phase
        arrive_expect_tx full[slot] 1024
        async copy smem[slot] completes full[slot] 1024
        advance p
    }
}

role math[r in 0..R] {
    var c = consumer(S)
    repeat K {
        let slot = r * S + c.index
        wait full[slot] c.phase
        read smem[slot]
        arrive empty[slot]
        advance c
    }
}

expect deadlock: proved
expect race: proved
