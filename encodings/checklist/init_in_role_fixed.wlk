//! init_in_role.wlk repaired: initialised at the top of the kernel, before the roles part, which
//! is what a plain declaration says.
protocol init_in_role_fixed

param T in 1..
param N in 1..

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
