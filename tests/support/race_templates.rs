//! Protocols whose members read and write what they share, in order, before they are edited.

use super::edited::Kernels;

/// Synchronization and data.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // A ring whose stages are written and read.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
buffer smem[S]
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
write smem[p.index]
arrive full[p.index]
advance p
}
}
role math[t in 0..T] {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
read smem[c.index]
arrive empty[c.index]
advance c
}
}",
    // Copies, tensor cores and commits.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
buffer smem[S]
buffer acc
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 8
async copy smem[p.index] completes full[p.index] 8
advance p
}
}
role math {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
async mma reads smem[c.index] writes acc
commit empty[c.index]
advance c
}
commit done
}
role store {
wait done 0
read acc
}",
    // Tiles with an accumulator that is handed over.
    "param T in 1..
param N in 0..
param K in 1..
mbarrier done { arrivals: 1 }
mbarrier taken { arrivals: T }
buffer acc
role math {
var a = producer(1)
for tile in 0..N {
wait taken a.phase
for i in 0..K {
async mma writes acc
}
commit done
advance a
}
}
role store[t in 0..T] {
var c = consumer(1)
for tile in 0..N {
wait done c.phase
read acc
arrive taken
advance c
}
}",
    // Staging and stores in groups.
    "param T in 1..
param N in 0..
barrier group { arrivals: T }
buffer staging[T]
buffer out[N, T]
role thread[t in 0..T] {
for i in 0..N {
write staging[t]
sync group
elect {
for x in 0..T {
async store reads staging[x] writes out[i, x]
}
commit_group
wait_group 0
}
sync group
read out[i, t]
}
}",
    // Threads that exchange, two phases by turns.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
buffer halo[2, 2, T]
role thread[cta in 0..2][t in 0..T] {
var phase = 0
for i in 0..N {
arrive bar[cta]
write halo[1 - cta, phase, t]
arrive bar[1 - cta]
wait bar[cta] phase
wait bar[1 - cta] phase
read halo[cta, phase, T - 1 - t]
phase = phase ^ 1
}
}",
    // Named barriers between two warps.
    "param N in 0..
named bar[2]
buffer tile
role writer warp {
for i in 0..N {
sync bar[0] 64
write tile
arrive bar[1] 64
}
}
role reader warp {
for i in 0..N {
arrive bar[0] 64
sync bar[1] 64
read tile
}
}",
    // Counters that only grow.
    "param T in 1..
param N in 0..
semaphore ready = 0
semaphore taken = 0
buffer tile
role writer {
for i in 0..N {
wait taken >= T * i
write tile
ready += 1
}
}
role reader[t in 0..T] {
for i in 0..N {
wait ready >= i + 1
read tile
taken += 1
}
}",
    // A stencil that fills one buffer while the other is read.
    "param T in 1..
param N in 0..
mbarrier landed[2] { arrivals: 1 }
barrier threads { arrivals: T }
buffer field[2]
role thread[t in 0..T] {
var c = consumer(2)
elect {
arrive_expect_tx landed[0] 8
async copy field[0] completes landed[0] 8
}
for i in 0..N {
elect {
if i + 1 < N {
arrive_expect_tx landed[(i + 1) % 2] 8
async copy field[(i + 1) % 2] completes landed[(i + 1) % 2] 8
}
}
wait landed[c.index] c.phase
read field[c.index]
advance c
sync threads
}
}",
    // Everybody's turn with the same place.
    "param T in 1..
param N in 0..
barrier a { arrivals: T + 1 }
barrier b { arrivals: T + 1 }
buffer place[T]
buffer total
role thread[t in 0..T] {
for i in 0..N {
write place[t]
sync a
sync b
read total
}
}
role leader {
for i in 0..N {
sync a
for x in 0..T {
read place[x]
}
sync b
}
}",
    // Bulk stores whose sources are used again.
    "param N in 0..
param S in 1..=2
semaphore ready = 0
buffer staging[S]
buffer out[N]
role writer {
for i in 0..N {
write staging[i % S]
async store reads staging[i % S] writes out[i]
commit_group
wait_group 0
ready += 1
}
}
role reader {
for i in 0..N {
wait ready >= i + 1
read out[i]
}
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("read", &["write"]),
    ("write", &["read"]),
    ("reads", &["writes"]),
    ("writes", &["reads"]),
    (
        "wait_group 0",
        &["wait_group 1", "wait_group 0 read", "commit_group"],
    ),
    ("async store", &["async mma"]),
    ("async mma", &["async store"]),
    ("t]", &["0]", "T - 1 - t]", "t / 2]"]),
    ("x]", &["0]", "T - 1 - x]"]),
    ("sync a", &["sync b"]),
    ("sync b", &["sync a"]),
];
