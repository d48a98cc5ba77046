//! Two matrix products in flight: each stage is given back one iteration late, when at most one product is
//! still under way. The first is started before the loop and the last waited for behind it.
protocol products_overlapped

param S in 2..=4    // stages
param T in 1..      // threads
param N in 1..      // products
param BYTES in 1..  // bytes per stage

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
buffer smem[S]

role load {
    var p = producer(S)
    for n in 0..N {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] BYTES
        async copy smem[p.index] completes full[p.index] BYTES
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(S)
    var r = consumer(S)
    wait full[c.index] c.phase
    async wgmma reads smem[c.index]
    commit_group
    advance c
    for n in 1..N {
        wait full[c.index] c.phase
        async wgmma reads smem[c.index]
        commit_group
        advance c
        wait_group 1
        arrive empty[r.index]
        advance r
    }
    wait_group 0
    arrive empty[r.index]
}

expect early_completion: proved
expect race: proved
expect stale_read: proved
