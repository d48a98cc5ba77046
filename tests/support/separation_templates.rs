//! CTAs with rings and barriers of their own, one member of which takes turns with other CTAs. They work, before they are
//! mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("C", &["(C + 1)", "(C - 1)", "1", "M"]),
        ("[c", &["[0", "[C - 1 - c", "[c"]),
        (
            "count(k in 0..c where seen[k, m])",
            &["c", "count(k in 0..c + 1 where seen[k, m])", "0", "m"],
        ),
        ("== c", &["== C - 1 - c", "== c + 1", ">= c", "== 0"]),
        (
            "seen[c, m]",
            &["seen[c, M - 1 - m]", "seen[0, m]", "!seen[c, m]"],
        ),
        ("turn", &["done", "met"]),
        ("done", &["turn"]),
        ("full", &["empty"]),
        ("role main[c in 0..C]", &["role main[c in 0..C][t in 0..2]"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A sum in the order of the CTAs, of the tiles that a mask says, with a ring of one stage.
    "param C in 1..
param M in 0..
pattern seen[C, M]
semaphore turn[M] = 0
mbarrier full[C] { arrivals: 1 }
mbarrier empty[C] { arrivals: 1 }
role load[c in 0..C] {
var p = producer(1)
for m in 0..M {
if seen[c, m] {
wait empty[c] p.phase
arrive full[c]
advance p
}
}
}
role main[c in 0..C] {
var q = consumer(1)
for m in 0..M {
if seen[c, m] {
wait full[c] q.phase
wait turn[m] == count(k in 0..c where seen[k, m])
turn[m] += 1
arrive empty[c]
advance q
}
}
}",
    // The same for all tiles, where two warps meet before and after.
    "param C in 1..
param M in 0..
semaphore turn[M] = 0
named met[C, 2]
role main[c in 0..C] warp {
for m in 0..M {
sync met[c, 0] 64
wait turn[m] == c
turn[m] += 1
sync met[c, 1] 64
}
}
role other[c in 0..C] warp {
for m in 0..M {
sync met[c, 0] 64
sync met[c, 1] 64
}
}",
    // A barrier of the grid by counting, each round.
    "param C in 1..
param N in 0..
semaphore turn = 0
barrier met[C] { arrivals: 2 }
role main[c in 0..C] {
for i in 0..N {
sync met[c]
turn += 1
wait turn >= (i + 1) * C
sync met[c]
}
}
role other[c in 0..C] {
for i in 0..N {
sync met[c]
sync met[c]
}
}",
    // Turns along one axis of a grid with two, and a flag that the other axis looks at.
    "param C in 1..
param D in 1..=2
semaphore turn[C] = 0
semaphore done[C, D] = 0
mbarrier full[C, D] { arrivals: 1 }
role main[c in 0..C][d in 0..D] {
wait full[c, d] 0
wait turn[c] == d
turn[c] += 1
done[c, d] += 1
}
role load[c in 0..C][d in 0..D] {
arrive full[c, d]
}",
    // Rows of a sparse matrix: who has its turn is who was there before.
    "param C in 1..
param M in 0..
pattern seen[C, M]
semaphore turn[M] = 0
barrier met[C] { arrivals: 2 }
role main[c in 0..C] {
for m in row(seen, c) {
sync met[c]
wait turn[m] >= count(k in 0..c where seen[k, m])
turn[m] += 1
}
}
role other[c in 0..C] {
for m in row(seen, c) {
sync met[c]
}
}",
];
