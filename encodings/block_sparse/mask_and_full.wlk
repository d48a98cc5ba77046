//! A tile may be listed as masked and as full; each listing takes a turn of its own.
//!
//! The second turn of a CTA at a tile comes after its first, so it asks for one more.
protocol mask_and_full

param N in 1..  // key blocks
param M in 1..  // query blocks

pattern mask[N, M]
pattern full[N, M]

semaphore dq[M] = 0

let before(n, m) = count(k in 0..n where mask[k, m]) + count(k in 0..n where full[k, m])

grid cta[n in 0..N] launch ascending resident 1.. {
    for m in row(mask, n) {
        wait dq[m] == before(n, m)
        accumulate dQ[m]
        dq[m] += 1
    }
    for m in row(full, n) {
        wait dq[m] == before(n, m) + (if mask[n, m] then 1 else 0)
        accumulate dQ[m]
        dq[m] += 1
    }
}

expect deadlock: proved
