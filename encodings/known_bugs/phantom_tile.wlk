//! helion: the two CTAs of a cluster share stages that both must release. With an odd number of tiles
//! the last tile of CTA 1 is a phantom; it is skipped together with its releases. That is noticed when
//! a stage is used again: T > REAL + S.
protocol phantom_tile

param S in 1..=4   // stages
param T in 0..     // stage uses of CTA 0: k-tiles of all its tiles
param REAL in 0..  // stage uses of CTA 1 before the phantom tile

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
