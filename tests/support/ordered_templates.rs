//! Copies whose programs depend on which one they are: CTAs that take turns at a counter, wait for
//! those before them or have trip counts of their own. They work, before they are mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "c",
            &[
                "(c + 1)",
                "(c - 1)",
                "0",
                "(C - 1 - c)",
                "2 * c",
                "c / 2",
                "c % 2",
                "max(c - 1, 0)",
                "N",
            ],
        ),
        ("c - 1", &["c", "c + 1", "c - 2", "0", "C - 1"]),
        ("c + 1", &["c", "c - 1", "c + 2", "C"]),
        ("C", &["(C + 1)", "(C - 1)", "1", "N", "max(C - 1, 1)"]),
        ("c > 0", &["c > 1", "c >= 0", "c < C - 1", "c != 0"]),
        ("c < C - 1", &["c < C", "c > 0", "c != C - 1"]),
        ("turn += 1", &["turn += c", "turn += 2", "turn += N"]),
        ("turn", &["done", "flag[c]"]),
        ("i", &["c", "(N - 1 - i)"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A ring in every CTA, then turns.
    "param C in 1..
param S in 1..=2
param N in 0..
mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore turn = 0
semaphore done = 0
role load[c in 0..C] {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
arrive full[c, p.index]
advance p
}
}
role math[c in 0..C] {
var q = consumer(S)
for i in 0..N {
wait full[c, q.index] q.phase
arrive empty[c, q.index]
advance q
}
wait turn == c
turn += 1
done += 1
}",
    // Turns at each of N tiles, with a ring of one stage.
    "param C in 1..
param N in 0..
mbarrier full[C] { arrivals: 1 }
mbarrier empty[C] { arrivals: 1 }
semaphore turn[N] = 0
role load[c in 0..C] {
for i in 0..N {
wait empty[c] (i + 1) % 2
arrive full[c]
}
}
role math[c in 0..C] {
for i in 0..N {
wait full[c] i % 2
wait turn[i] == c
turn[i] += 1
arrive empty[c]
}
}",
    // Each waits for the one before it, tile by tile.
    "param C in 1..
param N in 0..
semaphore flag[C] = 0
barrier own[C] { arrivals: 2 }
role cta[c in 0..C][t in 0..2] {
for i in 0..N {
if t == 0 {
if c > 0 {
wait flag[c - 1] >= i + 1
}
}
sync own[c]
if t == 1 {
flag[c] += 1
}
}
}",
    // From the last to the first.
    "param C in 1..
param N in 0..
semaphore flag[C] = 0
semaphore turn = 0
role cta[c in 0..C] {
for i in 0..N {
if c < C - 1 {
wait flag[c + 1] >= i + 1
}
flag[c] += 1
}
wait turn == C - 1 - c
turn += 1
}",
    // Tiles c, c + 2, ... of N, and somebody who waits for all.
    "param C in 1..
param N in 0..
mbarrier full[C] { arrivals: 1 }
mbarrier empty[C] { arrivals: 1 }
semaphore done = 0
semaphore turn = 0
role load[c in 0..C] {
for i in 0..c {
wait empty[c] (i + 1) % 2
arrive full[c]
}
}
role math[c in 0..C] {
for i in 0..c {
wait full[c] i % 2
arrive empty[c]
}
done += 1
}
role host {
wait done == C
turn += 1
}",
    // A gate in front, opened by nobody's thread, turns behind it, two threads in every CTA.
    "param C in 1..
param N in 0..
named pair[C]
semaphore turn = 0
semaphore done = 0
semaphore gate = 0
role host {
gate += 1
wait done >= 0
}
role first[c in 0..C] warp {
wait gate >= 1
wait turn == c
for i in 0..N {
sync pair[c] 64
}
turn += 1
}
role second[c in 0..C] warp {
for i in 0..N {
sync pair[c] 64
}
}",
];
