//! Stream-K with fix-up, where the CTAs that finish a tile start before those whose parts they wait for.
protocol stream_k_fixup_ascending

param U in 1..  // units of a CTA
param K in 1..  // units of a tile
param C in 1..  // CTAs

let first(c) = c * U
let last(c) = (c + 1) * U

semaphore part[C] = 0

grid cta[c in 0..C] launch ascending resident 1.. {
    if first(c) % K != 0 {
        part[c] += 1
    }
    for t in ceil_div(first(c), K)..ceil_div(last(c), K) {
        for d in c + 1..C {
            if first(d) < (t + 1) * K && first(d) > t * K {
                wait part[d] >= 1
            }
        }
    }
}

expect deadlock: refuted at U = 1, K = 2, C = 2, R = 1
expect deadlock: proved assuming R >= C
