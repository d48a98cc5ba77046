//! Clusters whose CTAs arrive at each other's barriers, before they are edited.

use super::edited::Kernels;

/// Synchronization across CTAs.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // A ring between two CTAs, with a cluster barrier before the end.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[c in 0..2, s in 0..S] { arrivals: 1 } cta c
mbarrier empty[c in 0..2, s in 0..S] { arrivals: T } cta c
barrier cluster { arrivals: T + 1 }
role load cta 0 {
var p = producer(S)
for i in 0..N {
wait empty[0, p.index] p.phase
arrive full[1, p.index]
advance p
}
sync cluster
}
role math[t in 0..T] cta 1 {
var c = consumer(S)
for i in 0..N {
wait full[1, c.index] c.phase
arrive empty[0, c.index]
advance c
}
sync cluster
}",
    // The producer waits for every stage once more.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[c in 0..2, s in 0..S] { arrivals: 1 } cta c
mbarrier empty[c in 0..2, s in 0..S] { arrivals: T } cta c
role load cta 0 {
var p = producer(S)
for i in 0..N {
wait empty[0, p.index] p.phase
arrive full[1, p.index]
advance p
}
for i in 0..S {
wait empty[0, p.index] p.phase
advance p
}
}
role math[t in 0..T] cta 1 {
var c = consumer(S)
for i in 0..N {
wait full[1, c.index] c.phase
arrive empty[0, c.index]
advance c
}
}",
    // Two CTAs that exchange.
    "param T in 1..
param N in 0..
mbarrier bar[c in 0..2] { arrivals: 2 * T } cta c
barrier cluster { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] cta cta {
var phase = 0
for i in 0..N {
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
phase = phase ^ 1
sync cluster
}
}",
    // Multicast copies and commits.
    "param N in 0..
mbarrier full[c in 0..2] { arrivals: 1 } cta c
mbarrier empty { arrivals: 2 } cta 0
role load cta 0 {
var p = producer(1)
for i in 0..N {
wait empty p.phase
arrive_expect_tx full[0] 8
async copy x completes full[0] 8
expect_tx full[1] 8
arrive full[1]
async copy y completes full[1] 8
advance p
}
wait empty p.phase
}
role math[c in 0..2] cta c {
var q = consumer(1)
for i in 0..N {
wait full[c] q.phase
async mma reads x
commit empty
advance q
}
}",
    // A helper warp keeps the CTA.
    "param T in 1..
param N in 1..
mbarrier go[c in 0..2] { arrivals: 1 } cta c
mbarrier back { arrivals: T } cta 0
role leader cta 0 {
arrive go[1]
}
role keeper cta 0 {
wait back 0
}
role worker[t in 0..T] cta 1 {
wait go[1] 0
arrive back
}",
    // Clusters of any number, and a barrier of each before the end.
    "param C in 1..
param N in 0..
mbarrier m[k in 0..C, c in 0..2] { arrivals: 1 } cta c cluster k
barrier cluster[C] { arrivals: 2 }
role left[k in 0..C] cta 0 cluster k {
for i in 0..N {
arrive m[k, 1]
wait m[k, 0] i % 2
}
sync cluster[k]
}
role right[k in 0..C] cta 1 cluster k {
for i in 0..N {
arrive m[k, 0]
wait m[k, 1] i % 2
}
sync cluster[k]
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    (
        "cluster k",
        &["cluster 0", "cluster C - 1 - k", "cluster k + 1"],
    ),
    (
        "sync cluster[k]",
        &["arrive cluster[k]", "arrive m[k, 0]", "arrive m[k, 1]"],
    ),
    ("sync cluster", &["arrive cluster", "read x"]),
    ("cta 0", &["cta 1", "cta 0 cluster 1"]),
    ("cta 1", &["cta 0", "cta 2"]),
    ("cta c", &["cta 1 - c", "cta 0", ""]),
    ("cta cta", &["cta 0", "cta 1 - cta"]),
    ("[0, p", &["[1, p"]),
    ("[1, p", &["[0, p"]),
    ("wait back 0", &["wait back 1", "read x"]),
    ("0..S {", &["0..S - 1 {", "1..S {"]),
];
