//! Stores that are waited for some iterations later, before they are edited.

use super::edited::Kernels;

/// Stores in groups.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // Two buffers, an elected thread.
    "param T in 1..
param N in 0..
barrier group { arrivals: T }
buffer staging[2, T]
buffer out[N, T]
role thread[t in 0..T] {
for i in 0..N {
elect {
wait_group 1 read
}
sync group
write staging[i % 2, t]
sync group
elect {
for x in 0..T {
async store reads staging[i % 2, x] writes out[i, x]
}
commit_group
}
}
elect {
wait_group 0
}
}",
    // The wait behind the commit.
    "param N in 0..
buffer staging[3]
buffer out[N]
role store {
for i in 0..N {
write staging[i % 3]
async store reads staging[i % 3] writes out[i]
commit_group
wait_group 2 read
}
wait_group 0
for i in 0..N {
read out[i]
}
}",
    // Stages that are given back one iteration late.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 1 }
buffer smem[2]
role load {
var p = producer(2)
for i in 0..N {
wait empty[p.index] p.phase
write smem[p.index]
arrive full[p.index]
advance p
}
}
role store {
for i in 0..N {
wait full[i % 2] i / 2 % 2
async store reads smem[i % 2] writes out
commit_group
wait_group 1 read
if i > 0 {
arrive empty[(i + 1) % 2]
}
}
}",
    // A nest, and one buffer.
    "param T in 1..
param N in 0..
param K in 1..
barrier group { arrivals: T }
buffer a[T]
buffer b[T]
role thread[t in 0..T] {
for i in 0..N {
for k in 0..K {
read a[t]
}
sync group
if t == 0 {
async store reads a[0] writes b[0]
commit_group
wait_group 1
}
sync group
write a[t]
}
}",
    // Copies that are started some iterations ahead, some of them before the loop.
    "param S in 2..=3
param T in 1..
param N in 1..
barrier cta { arrivals: T }
buffer smem[S, T]
role thread[t in 0..T] {
for s in 0..S - 1 {
async copy smem[s, t]
commit_group
}
for k in 0..N {
wait_group S - 2
sync cta
read smem[k % S, T - 1 - t]
if k + S - 1 < N {
async copy smem[(k + S - 1) % S, t]
}
commit_group
}
}",
    // The first one before the loop, the last one waited for behind it.
    "param T in 1..
param N in 1..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: T }
buffer k[2]
role load {
var p = producer(2)
for n in 0..N {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 100
async copy k[p.index] completes full[p.index] 100
advance p
}
}
role math[t in 0..T] {
var c = consumer(2)
var r = consumer(2)
wait full[c.index] c.phase
async mma reads k[c.index]
commit_group
advance c
for n in 1..N {
wait full[c.index] c.phase
async mma reads k[c.index]
commit_group
advance c
wait_group 1
arrive empty[r.index]
advance r
}
wait_group 0
arrive empty[r.index]
}",
    // Groups of two kinds.
    "param T in 1..
param N in 0..
param K in 1..
barrier group { arrivals: T }
buffer a[T]
buffer b[T]
role thread[t in 0..T] {
for i in 0..N {
for k in 0..K {
async mma reads b[t]
commit_group
wait_group 0
}
sync group
write a[t]
sync group
if t == 0 {
for x in 0..T {
async store reads a[x]
}
commit_group
}
}
}",
    // Stages of an epilogue with subtiles.
    "param D in 1..=2
param N in 0..
param K in 1..
buffer a[D]
buffer out[N, K]
role store {
var p = producer(D)
for i in 0..N {
for k in 0..K {
wait_group D - 1 read
write a[p.index]
fence.proxy.async
async store reads a[p.index] writes out[i, k]
commit_group
advance p
}
}
wait_group 0
for i in 0..N {
read out[i, 0]
}
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("wait_group 1", &["wait_group 2", "wait_group 0"]),
    ("wait_group 2", &["wait_group 1", "wait_group 3"]),
    ("wait_group 0", &["wait_group 1", "commit_group"]),
    (
        "wait_group S - 2",
        &["wait_group S - 1", "wait_group S - 3", "wait_group 0"],
    ),
    (
        "wait_group D - 1",
        &["wait_group D", "wait_group D - 2", "wait_group 0"],
    ),
    ("S - 1 < N", &["S < N", "S - 2 < N"]),
    ("k + S - 1", &["k + S", "k + S - 2", "k"]),
    (" read", &[""]),
    ("i % 2", &["i % 3", "(i + 1) % 2", "0"]),
    ("i % 3", &["i % 2", "(i + 2) % 3"]),
    ("commit_group", &["wait_group 1", "read x"]),
    ("async store", &["async mma"]),
    ("sync group", &["arrive group"]),
];
