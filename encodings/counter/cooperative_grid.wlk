//! Cooperative groups: every thread of the grid meets at a grid barrier once per round.
protocol cooperative_grid

param G in 1..  // CTAs
param T in 1..  // threads per CTA
param N in 0..  // rounds

barrier grid_barrier { arrivals: G * T }

role thread[g in 0..G][t in 0..T] {
    for i in 0..N {
        sync grid_barrier
    }
}

expect deadlock: proved
