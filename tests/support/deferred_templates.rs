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
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("wait_group 1", &["wait_group 2", "wait_group 0"]),
    ("wait_group 2", &["wait_group 1", "wait_group 3"]),
    ("wait_group 0", &["wait_group 1", "commit_group"]),
    (" read", &[""]),
    ("i % 2", &["i % 3", "(i + 1) % 2", "0"]),
    ("i % 3", &["i % 2", "(i + 2) % 3"]),
    ("commit_group", &["wait_group 1", "read x"]),
    ("async store", &["async mma"]),
    ("sync group", &["arrive group"]),
];
