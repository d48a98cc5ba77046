//! helion: a cluster of two CTAs shares stages that both must release. With an odd number of tiles
//! CTA 1 has a phantom tile at the end; here it is skipped together with its release.
protocol phantom_tile

param S in 1..=4   // stages
param T in 0..     // tiles of CTA 0
param REAL in 0..  // tiles of CTA 1 that exist

assume REAL <= T

mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }

role load {
    var p = producer(S)
    for t in 0..T {
        wait empty[p.index] p.phase
        arrive full[0, p.index]
        arrive full[1, p.index]
        advance p
    }
}

role math[cta in 0..2] {
    var c = consumer(S)
    for t in 0..T {
        if cta == 0 || t < REAL {
            wait full[cta, c.index] c.phase
            arrive empty[c.index]
        }
        advance c
    }
}

expect deadlock: refuted at S = 1, T = 2, REAL = 0
expect deadlock: refuted assuming T > REAL + S
expect deadlock: proved assuming T <= REAL + S
