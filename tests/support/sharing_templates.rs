//! Copies that share objects: CTAs with barriers of their own that meet at counters and barriers of
//! the whole grid. They work, before they are mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "C",
            &["(C + 1)", "(C - 1)", "1", "N", "2 * C", "max(C - 1, 1)"],
        ),
        ("[c", &["[0", "[C - 1 - c", "[c"]),
        (
            "c == 0",
            &["c > 0", "c != 0", "c < N", "c == 1", "c == C - 1", "c <= 0"],
        ),
        ("c > 0", &["c == 0", "c > 1", "c >= 0", "c < C - 1"]),
        ("met", &["own[c]", "done"]),
        ("gate", &["done", "met"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Split-K: a ring in every CTA, then all wait for all.
    "param C in 1..
param S in 1..=2
param N in 0..
mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore met = 0
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
met += 1
wait met >= C
}",
    // A software grid barrier each round, by one thread of each CTA.
    "param C in 1..
param T in 1..
param N in 0..
barrier own[C] { arrivals: T }
semaphore met = 0
role cta[c in 0..C][t in 0..T] {
for i in 0..N {
sync own[c]
if t == 0 {
met += 1
wait met >= (i + 1) * C
}
sync own[c]
}
}",
    // The first CTA opens a gate when all have come.
    "param C in 1..
param T in 1..
param N in 0..
barrier own[C] { arrivals: T }
semaphore met = 0
semaphore gate = 0
role cta[c in 0..C][t in 0..T] {
for i in 0..N {
sync own[c]
if t == 0 {
if c == 0 {
wait met == i * (C - 1) + C - 1
gate += 1
} else {
met += 1
wait gate >= i + 1
}
}
sync own[c]
}
}",
    // A barrier of the whole grid around a ring of one stage.
    "param C in 1..
param N in 0..
mbarrier full[C] { arrivals: 1 }
mbarrier empty[C] { arrivals: 1 }
barrier met { arrivals: C }
role load[c in 0..C] {
var phase = 1
for i in 0..N {
wait empty[c] phase
arrive full[c]
phase = phase ^ 1
}
}
role math[c in 0..C] {
for i in 0..N {
wait full[c] i % 2
arrive empty[c]
sync met
}
}",
    // Each CTA is served by a thread of its own, and told by one that is nobody's when to begin.
    "param C in 1..
param N in 0..
semaphore asked[C] = 0
semaphore given[C] = 0
semaphore gate = 0
semaphore done = 0
role host {
for i in 0..N {
gate += 1
wait done == (i + 1) * C
}
}
role client[c in 0..C] {
for i in 0..N {
wait gate >= i + 1
asked[c] += 1
wait given[c] == i + 1
done += 1
}
}
role server[c in 0..C] {
for i in 0..N {
wait asked[c] >= i + 1
given[c] += 1
}
}",
    // Named barriers of warps, a counter that is set back, and a grid that all fits.
    "param C in 1..
param N in 0..
named pair[C]
semaphore turns[C] = 0
semaphore met = 0
role first[c in 0..C] warp {
for i in 0..N {
sync pair[c] 64
turns[c] += 1
wait turns[c] == 1
turns[c] = 0
met += 1
}
}
role second[c in 0..C] warp {
for i in 0..N {
sync pair[c] 64
}
wait met >= N * C
}",
    // The last CTA but its ring waits for the others; those do not wait.
    "param C in 1..
param N in 0..
mbarrier full[C] { arrivals: 1 }
semaphore done = 0
role load[c in 0..C] {
if c > 0 {
arrive full[c]
} else {
wait done >= C - 1
arrive full[c]
}
}
role math[c in 0..C] {
wait full[c] 0
done += 1
}",
];
