//! One thread initialises a barrier, and a CTA barrier orders that before its use.
protocol use_after_barrier

param T in 1..

barrier cta { arrivals: T }
mbarrier done { arrivals: T, init: explicit }

role thread[t in 0..T] {
    elect {
        init done
    }
    sync cta
    arrive done
    wait done 0
}

expect deadlock: proved
expect uninitialized: proved
