//! cta_barrier_in_role.wlk repaired: a barrier of the role's own size.
protocol cta_barrier_in_role_fixed

param A in 1..
param B in 1..

barrier epilogue_only { arrivals: A }

role epilogue[t in 0..A] {
    sync epilogue_only
}

role others[t in 0..B] {}

expect deadlock: proved
