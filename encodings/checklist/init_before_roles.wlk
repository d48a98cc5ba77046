//! init_in_role.wlk repaired, written out: thread 0 initialises the barriers of a ring, and the CTA
//! meets before the roles part. The barriers are proved as if they were there from the start.
protocol init_before_roles

param S in 1..=8  // stages
param T in 1..    // consumer threads
param N in 0..    // uses

barrier cta { arrivals: T + 1 }
mbarrier full[S] { arrivals: 1, init: explicit }
mbarrier empty[S] { arrivals: T, init: explicit }

role load {
    for s in 0..S {
        init full[s]
        init empty[s]
    }
    sync cta
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] 4096
        async copy tile[p.index] completes full[p.index] 4096
        advance p
    }
}

role math[t in 0..T] {
    sync cta
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}

expect deadlock: proved
expect uninitialized: proved
