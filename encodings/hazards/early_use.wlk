//! One thread initialises a barrier, and nothing makes the others wait for that.
protocol early_use

param T in 1..

mbarrier done { arrivals: T, init: explicit }

role thread[t in 0..T] {
    elect {
        init done
    }
    arrive done
    wait done 0
}

expect uninitialized: refuted at T = 2
