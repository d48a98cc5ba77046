//! Kernels that drain a ring before they end, skip waits for nothing, or bring bytes to each other's barriers.

use super::edited::Kernels;

/// Mbarriers, with transactions.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "n >= S",
            &["n > S", "n >= 1", "n >= 2 * S", "n < S", "n >= 0"],
        ),
        ("n - S", &["n - S - 1", "n - S + 1", "n"]),
        ("S - 1", &["S", "S - 2", "1"]),
        ("full[0", &["full[1"]),
        ("full[1", &["full[0"]),
        ("empty[1", &["empty[0"]),
        ("(n / S)", &["(n / S + 1)", "(n / S - 1)"]),
        ("(m / S)", &["(m / S + 1)", "(m / S - 1)"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // The first waits are skipped, and what was not waited for is waited for in the end.
    "param S in 1..=3
param K in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var n = 0
for tile in 0..N {
for i in 0..K {
if n >= S {
wait empty[n % S] (n / S + 1) % 2
}
arrive full[n % S]
n = n + 1
}
}
for m in max(0, n - S)..n {
wait empty[m % S] (m / S) % 2
}
}
role math {
var n = 0
for tile in 0..N {
for i in 0..K {
wait full[n % S] (n / S) % 2
arrive empty[n % S]
n = n + 1
}
}
}",
    // A pipeline state that is moved to the last stage.
    "param S in 1..=3
param K in 0..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
repeat max(0, N - 1) {
repeat K {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 2
async copy a completes full[p.index] 2
advance p
}
}
repeat S - 1 {
advance p
}
wait empty[p.index] p.phase
}
role math {
var c = consumer(S)
repeat max(0, N - 1) {
repeat K {
wait full[c.index] c.phase
commit empty[c.index]
advance c
}
}
}",
    // A multicast: each CTA loads one half for both.
    "param S in 1..=2
param N in 0..
mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[2, S] { arrivals: 2 }
role load[c in 0..2] {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
arrive_expect_tx full[c, p.index] 2
async copy a completes full[0, p.index] 1
async copy b completes full[1, p.index] 1
advance p
}
}
role math[c in 0..2] {
var q = consumer(S)
for i in 0..N {
wait full[c, q.index] q.phase
arrive empty[0, q.index]
arrive empty[1, q.index]
advance q
}
}",
    // The leader expects what both CTAs load.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[2, S] { arrivals: 1 }
role load[c in 0..2] {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
if c == 0 {
arrive_expect_tx full[p.index] 8
}
async copy a completes full[p.index] 2
async copy b completes full[p.index] 2
advance p
}
for i in 0..S {
wait empty[c, p.index] p.phase
advance p
}
}
role math {
var q = consumer(S)
for i in 0..N {
wait full[q.index] q.phase
commit empty[0, q.index]
commit empty[1, q.index]
advance q
}
}",
];

/// Consumers that take turns: what the cut rule sees as loops over every other iteration.
pub const TURNS: Kernels = Kernels {
    templates: &[
        "param H in 1..=2
param N in 0..
mbarrier full[2 * H] { arrivals: 1 }
mbarrier empty[2 * H] { arrivals: 1 }
role load {
for i in 0..N {
wait empty[i % (2 * H)] (i / (2 * H) + 1) % 2
arrive full[i % (2 * H)]
}
}
role math[c in 0..2] {
for i in 0..N {
if i % 2 == c {
wait full[i % (2 * H)] i / (2 * H) % 2
arrive empty[i % (2 * H)]
}
}
}",
        "param N in 0..
mbarrier turn[3] { arrivals: 1 }
role worker[c in 0..3] {
for i in 0..N {
if c == i % 3 {
if i > 0 {
wait turn[(i + 2) % 3] (i - 1) / 3 % 2
}
arrive turn[c]
}
}
}",
    ],
    replacements: &[
        ("2 * H", &["H", "2 * H + 1", "3 * H"]),
        ("% 2 == c", &["% 2 == 1 - c", "% 3 == c", "% 2 != c"]),
        ("% 3", &["% 2", "% 4"]),
    ],
};
