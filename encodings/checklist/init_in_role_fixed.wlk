//! init_in_role.wlk repaired: thread 0 initialises the barriers at the top of the kernel and the CTA
//! meets before the roles part. A plain declaration says that: the barriers are there from the start.
protocol init_in_role_fixed

param T in 1..  // threads of the role, none of them thread 0 of the CTA
param N in 1..  // uses of the stage

mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: T }

role load {
    var p = producer(1)
    for i in 0..N {
        wait empty p.phase
        arrive full
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(1)
    for i in 0..N {
        wait full c.phase
        arrive empty
        advance c
    }
}

expect deadlock: proved
