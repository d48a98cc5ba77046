//! Stream-K with fix-up: each CTA takes U units of work of tiles that have K units each, wherever these numbers lead. Whoever has the
//! first unit of a tile finishes it, and waits for the parts of all CTAs that have begun in its middle. These start earlier.
protocol stream_k_fixup

param U in 1..  // units of a CTA
param K in 1..  // units of a tile
param C in 1..  // CTAs

let first(c) = c * U
let last(c) = (c + 1) * U

semaphore part[C] = 0

grid cta[c in 0..C] launch descending resident 1.. {
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

expect deadlock: proved
