//! Protocols whose data lives in what is taken from a pool, before they are edited.

use super::edited::Kernels;

/// Synchronization, data and its room.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // Allocated by one, filled and read by others.
    "param T in 1..
param N in 0..
pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: T + 2 }
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: T }
role alloc {
acquire columns 512 backing acc
sync cta
sync cta
release columns 512 backing acc
}
role mma {
sync cta
var a = producer(1)
for i in 0..N {
wait empty a.phase
async mma writes acc
commit full
advance a
}
sync cta
}
role store[t in 0..T] {
sync cta
var c = consumer(1)
for i in 0..N {
wait full c.phase
read acc
arrive empty
advance c
}
sync cta
}",
    // One member does it all.
    "param N in 0..
pool columns = 512 { release: mandatory }
buffer acc[2]
mbarrier full { arrivals: 1 }
role alloc {
acquire columns 256 backing acc[0]
acquire columns 256 backing acc[1]
write acc[1]
if N > 0 {
async mma writes acc[0]
commit full
wait full 0
}
read acc[0]
release columns 256 backing acc[0]
read acc[1]
release columns 256 backing acc[1]
}",
    // Threads of one role, and an mbarrier that says when all are through.
    "param T in 1..
param N in 0..
pool columns = 512 { release: mandatory }
buffer acc[T]
mbarrier ready { arrivals: 1 }
mbarrier done { arrivals: T }
role alloc {
acquire columns 128 backing acc
arrive ready
wait done 0
release columns 128 backing acc
}
role use[t in 0..T] {
wait ready 0
for i in 0..N {
write acc[t]
}
arrive done
}",
    // Threads that elect one of them, stores in groups, two buffers.
    "param T in 1..
param N in 0..
pool room = 10 { release: mandatory }
buffer a[T]
buffer b
barrier cta { arrivals: T }
role thread[t in 0..T] {
if t == 0 {
acquire room 10 backing a, b
}
sync cta
write a[t]
sync cta
if t == 0 {
for x in 0..T {
async store reads a[x] writes b
}
commit_group
wait_group 0
}
sync cta
read b
sync cta
if t == 0 {
release room 10 backing a, b
}
}",
    // A copy that lands.
    "param N in 0..
pool room = 10 { release: mandatory }
buffer a[2]
mbarrier full { arrivals: 1 }
mbarrier done { arrivals: 1 }
role load {
acquire room 4 backing a[0]
arrive_expect_tx full 8
async copy a[0] completes full 8
wait done 0
release room 4 backing a[0]
}
role math {
wait full 0
read a[0]
arrive done
}",
    // Room for every tile.
    "param T in 1..
param N in 0..
pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
barrier cta { arrivals: T + 1 }
role mma {
for i in 0..N {
acquire columns 256 backing acc
write acc
sync cta
sync cta
release columns 256 backing acc
}
}
role store[t in 0..T] {
for i in 0..N {
sync cta
read acc
sync cta
}
}",
    // The same with barriers of its own, work in flight and a second buffer.
    "param T in 1..
param N in 0..
pool columns = 512 { release: mandatory }
buffer acc { memory: tensor }
buffer sums { memory: tensor }
mbarrier full { arrivals: 1 }
mbarrier done { arrivals: T }
role mma {
acquire columns 64 backing sums
for i in 0..N {
acquire columns 256 backing acc
async mma writes acc
commit full
wait done i % 2
write sums
release columns 256 backing acc
}
release columns 64 backing sums
}
role store[t in 0..T] {
for i in 0..N {
wait full i % 2
read acc
arrive done
}
}",
    // Given back and taken again in the middle of the loop.
    "param N in 0..
pool columns = 512
buffer acc
barrier cta { arrivals: 2 }
role mma {
acquire columns 512 backing acc
for i in 0..N {
sync cta
sync cta
release columns 512 backing acc
acquire columns 512 backing acc
}
sync cta
write acc
release columns 512 backing acc
}
role store {
for i in 0..N {
sync cta
read acc
sync cta
}
sync cta
}",
    // CTAs of any number, each with room of its own.
    "param C in 1..
param N in 0..
pool columns[C] = 512 { release: mandatory }
buffer acc[C] { memory: tensor }
barrier cta[C] { arrivals: 2 }
role mma[c in 0..C] {
acquire columns[c] 256 backing acc[c]
for i in 0..N {
sync cta[c]
sync cta[c]
}
release columns[c] 256 backing acc[c]
}
role store[c in 0..C] {
for i in 0..N {
sync cta[c]
read acc[c]
sync cta[c]
}
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("read", &["write"]),
    ("wait_group 0", &["wait_group 1", "commit_group"]),
    ("backing acc", &["backing acc[0]"]),
    ("acc[0]", &["acc[1]", "acc"]),
    ("acc[1]", &["acc[0]"]),
    ("a, b", &["a", "b", "b, a", "a, a"]),
    ("512", &["256"]),
    ("256", &["512", "300"]),
    ("backing sums", &["backing acc"]),
    ("backing acc[c]", &["backing acc[0]", "backing acc"]),
    ("columns[c]", &["columns[0]"]),
    ("read acc[c]", &["read acc[0]", "read acc[C - 1 - c]"]),
    ("sync cta", &["arrive cta", "read x"]),
    ("release columns", &["acquire columns"]),
    (" { release: mandatory }", &[""]),
];
