//! From a checklist for generated kernels: the barriers are initialised under `if threadIdx.x == 0`
//! inside the branch of the warps that do not have thread 0, so nobody initialises them. Their use is
//! undefined; here it shows as a hang.
protocol init_in_role

param T in 1..  // threads of the role, none of them thread 0 of the CTA
param N in 1..  // uses of the stage

mbarrier full { arrivals: 1, init: explicit }
mbarrier empty { arrivals: T, init: explicit }

role load {
    var p = producer(1)
    for i in 0..N {
        wait empty p.phase
        arrive full
        advance p
    }
}

// Threads 128 to 127 + T of the CTA.
role math[t in 0..T] {
    if t + 128 == 0 {
        init full
        init empty
    }
    var c = consumer(1)
    for i in 0..N {
        wait full c.phase
        arrive empty
        advance c
    }
}

expect deadlock: refuted at T = 1, N = 1
expect uninitialized: refuted at T = 1, N = 1
