//! Rings that run on over tiles whose lengths only the input knows. They work, before they are
//! mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "len(i)",
            &[
                "len(i + 1)",
                "len(N - 1 - i)",
                "len(0)",
                "len(i) + 1",
                "max(len(i), 1)",
                "K",
                "min(len(i), 1)",
                "other(i)",
            ],
        ),
        (
            "row(block, i)",
            &[
                "row(block, i + 1)",
                "row(block, 0)",
                "row(block, N - 1 - i)",
            ],
        ),
        (" > 0", &[" > 1", " >= 0", " != 0", " >= 1"]),
        ("arrivals: 1", &["arrivals: 2"]),
        ("advance c", &["read x"]),
        ("commit", &["arrive"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A ring of one or two stages.
    "param S in 1..=2
param N in 0..
param K in 0..
pattern block[N, K]
let len(i) = count(k in 0..K where block[i, k])
let other(i) = count(k in 0..K where block[k, i])
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
for k in 0..len(i) {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
}
role math {
var c = consumer(S)
for i in 0..N {
for k in 0..len(i) {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}
}",
    // The entries of rows, and an accumulator that goes to another role after each.
    "param N in 0..
param K in 0..
pattern block[N, K]
let len(i) = count(k in 0..K where block[i, k])
let other(i) = 1
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
mbarrier done { arrivals: 1 }
mbarrier free { arrivals: 1 }
role load {
var p = producer(1)
for i in 0..N {
for k in row(block, i) {
wait empty p.phase
arrive full
advance p
}
}
}
role math {
var c = consumer(1)
for i in 0..N {
wait free (i + 1) % 2
for k in row(block, i) descending {
wait full c.phase
commit empty
advance c
}
commit done
}
}
role epilogue {
for i in 0..N {
wait done i % 2
arrive free
}
}",
    // An accumulator that is handed over, and a phase that is toggled, for tiles with entries alone.
    "param N in 0..
param K in 0..
pattern block[N, K]
let len(i) = count(k in 0..K where block[i, k])
let other(i) = count(k in 0..K where block[k, i])
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
mbarrier done { arrivals: 1 }
mbarrier free { arrivals: 1 }
role load {
var p = producer(1)
for i in 0..N {
for k in 0..len(i) {
wait empty p.phase
arrive full
advance p
}
}
}
role math {
var c = consumer(1)
var phase = 1
for i in 0..N {
if len(i) > 0 {
wait free phase
for k in 0..len(i) {
wait full c.phase
commit empty
advance c
}
commit done
phase = phase ^ 1
}
}
}
role epilogue {
var phase = 0
for i in 0..N {
if len(i) > 0 {
wait done phase
arrive free
phase = phase ^ 1
}
}
}",
    // The same without a ring.
    "param N in 0..
param K in 0..
pattern block[N, K]
let len(i) = count(k in 0..K where block[i, k])
let other(i) = len(i) + 1
mbarrier done { arrivals: 1 }
mbarrier free { arrivals: 1 }
role math {
var phase = 1
for i in 0..N {
if len(i) > 0 {
wait free phase
commit done
phase = phase ^ 1
}
}
}
role epilogue {
var phase = 0
for i in 0..N {
if 1 <= len(i) {
wait done phase
arrive free
phase = phase ^ 1
}
}
}",
    // A triangle: tile i has i + 1 blocks.
    "param S in 1..=2
param N in 0..
let len(i) = i + 1
let other(i) = i
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
for k in 0..len(i) {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
}
role math {
var c = consumer(S)
for i in 0..N {
for k in 0..len(i) {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}
}",
    // A counter that grows by the length of every tile.
    "param N in 0..
param K in 0..
pattern block[N, K]
let len(i) = count(k in 0..K where block[i, k])
let other(i) = len(i) + 1
semaphore made = 0
semaphore used = 0
role maker {
for i in 0..N {
for k in 0..len(i) {
made += 1
}
wait used >= i + 1
}
}
role user {
var n = 0
for i in 0..N {
for k in 0..len(i) {
n = n + 1
wait made >= n
}
used += 1
}
}",
];
