//! Chains of rings that work, before they are mutated: what the order rule is good at.

use super::edited::Kernels;

/// Mbarriers, named barriers and cluster barriers.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("completes full", &["completes done"]),
        ("* 32", &["* 32 + 32"]),
        ("i > 0", &["i > 1", "i >= 0"]),
        ("2 * i", &["i", "2 * i + 1"]),
        ("(i + 1) % 2", &["i % 2", "(i + 2) % 2", "0"]),
        (
            "((i + 1) / 2 + 1) % 2",
            &[
                "(i + 1) / 2 % 2",
                "(i / 2 + 1) % 2",
                "((i + 2) / 2 + 1) % 2",
            ],
        ),
        ("M - N + 2", &["M - N + 1", "M + N + 2"]),
        ("/ 3", &["/ 2"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Three roles, two rings of different depth.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done[2] { arrivals: 1 }
mbarrier taken[2] { arrivals: T }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math {
var c = consumer(S)
var a = producer(2)
for i in 0..N {
wait full[c.index] c.phase
wait taken[a.index] a.phase
commit empty[c.index]
commit done[a.index]
advance c
advance a
}
}
role store[t in 0..T] {
var c = consumer(2)
for i in 0..N {
wait done[c.index] c.phase
arrive taken[c.index]
advance c
}
}",
    // Bytes, tiles and k-tiles.
    "param S in 1..=2
param N in 0..
param K in 1..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
mbarrier taken { arrivals: 1 }
role load {
var p = producer(S)
for tile in 0..N {
for i in 0..K {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 2
async copy a completes full[p.index] 1
async copy b completes full[p.index] 1
advance p
}
}
}
role math {
var c = consumer(S)
var a = producer(1)
for tile in 0..N {
wait taken a.phase
for i in 0..K {
wait full[c.index] c.phase
commit empty[c.index]
advance c
}
commit done
advance a
}
}
role store {
var c = consumer(1)
for tile in 0..N {
wait done c.phase
arrive taken
advance c
}
}",
    // Two uses of a ring per iteration.
    "param S in 2..=3
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for i in 0..N {
wait empty[(2 * i) % S] (2 * i / S + 1) % 2
arrive full[(2 * i) % S]
wait empty[(2 * i + 1) % S] ((2 * i + 1) / S + 1) % 2
arrive full[(2 * i + 1) % S]
}
}
role math {
for i in 0..N {
wait full[(2 * i) % S] (2 * i) / S % 2
wait full[(2 * i + 1) % S] (2 * i + 1) / S % 2
arrive empty[(2 * i) % S]
arrive empty[(2 * i + 1) % S]
}
}",
    // A wait that is for the iteration before, and one after the loop.
    "param N in 1..
param T in 1..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: T }
mbarrier out { arrivals: 1 }
role load {
for i in 0..N {
if i > 0 {
wait empty (i + 1) % 2
}
arrive full
}
wait empty (N + 1) % 2
arrive out
}
role math[t in 0..T] {
for i in 0..N {
wait full i % 2
arrive empty
}
wait out 0
}",
    // Named barriers in a circle.
    "param W in 1..
param N in 0..
named bar[4]
role load {
for i in 0..N {
sync bar[1] (W + 1) * 32
arrive bar[2] (W + 1) * 32
}
}
role math[w in 0..W] {
for i in 0..N {
arrive bar[1] (W + 1) * 32
sync bar[2] (W + 1) * 32
}
}",
    // Two CTAs and a barrier of the cluster between rounds.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
barrier cluster { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
var phase = 0
for i in 0..N {
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
arrive cluster
wait cluster
phase = phase ^ 1
}
}",
    // Everybody waits at both.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
var phase = 0
for i in 0..N {
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
wait bar[1 - cta] phase
phase = phase ^ 1
}
}",
    // A leader among warps.
    "param W in 1..
param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: W }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math[w in 0..W] {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
if w == 0 {
arrive empty[c.index]
}
if w != 0 {
arrive empty[c.index]
}
advance c
}
}",
    // A prologue that fills the ring.
    "param S in 1..=3
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for s in 0..S {
arrive full[s]
}
for i in 0..N {
wait empty[i % S] i / S % 2
arrive full[i % S]
}
}
role math {
for i in 0..N + S {
wait full[i % S] i / S % 2
arrive empty[i % S]
}
}",
    // Each round waits for what was begun in the one before, and then there are as many meetings as a quotient says.
    "param N in 0..
param M in 0..
mbarrier done[2] { arrivals: 2 }
named bar[1]
role lead warp {
for i in 0..N {
sync bar[0] 64
arrive done[i % 2]
wait done[(i + 1) % 2] ((i + 1) / 2 + 1) % 2
}
for j in 0..(M - N + 2) / 3 {
sync bar[0] 64
}
}
role look warp {
for i in 0..N {
sync bar[0] 64
arrive done[i % 2]
wait done[(i + 1) % 2] ((i + 1) / 2 + 1) % 2
}
for j in 0..(M - N + 2) / 3 {
sync bar[0] 64
}
}",
];
