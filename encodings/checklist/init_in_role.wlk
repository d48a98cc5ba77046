//! From a checklist for generated kernels: the barrier is initialised under `if threadIdx.x == 0`
//! inside the branch of warps that do not have thread 0, so nobody initialises it.
protocol init_in_role

param T in 1..  // threads of the role, none of them thread 0 of the CTA
param N in 1..

mbarrier full { arrivals: 1, init: explicit }

role load {
    for i in 0..N {
        arrive full
    }
}

// Thread ids from 128 on.
role math[t in 0..T] {
    if t + 128 == 0 {
        init full
    }
    for i in 0..1 {
        wait full 0
    }
}

expect deadlock: refuted at T = 1, N = 1
