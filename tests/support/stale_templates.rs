//! Protocols whose members see what others have written, before they are edited.

use super::edited::Kernels;

/// Data with orders, scopes, places and proxies.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // Handed on through counters, between CTAs.
    "param N in 0..
semaphore ready = 0
semaphore taken = 0
buffer tile
role writer cta 0 {
for i in 0..N {
wait.acquire.gpu taken >= i
write tile
red.release.gpu ready += 1
}
}
role reader cta 1 cluster 1 {
for i in 0..N {
wait.acquire.gpu ready >= i + 1
read tile
red.release.gpu taken += 1
}
}",
    // Along a chain of three.
    "param N in 0..
semaphore first[N] = 0
semaphore second[N] = 0
buffer part[N]
role a {
for i in 0..N {
write part[i]
red.release.cluster first[i] += 1
}
}
role b cta 1 {
for i in 0..N {
wait.acquire.cluster first[i] >= 1
red.release.gpu second[i] += 1
}
}
role c cluster 1 {
for i in 0..N {
wait.acquire.gpu second[i] >= 1
read part[i]
}
}",
    // Staged by threads, stored in bulk, published.
    "param T in 1..
param N in 0..
barrier group { arrivals: T }
semaphore stored = 0
buffer staging[T]
buffer out[N, T]
role thread[t in 0..T] {
for i in 0..N {
write staging[t]
fence.proxy.async
sync group
elect {
for x in 0..T {
async store reads staging[x] writes out[i, x]
}
commit_group
wait_group 0
stored += 1
}
sync group
}
}
role next[t in 0..T] cluster 1 {
for i in 0..N {
wait stored >= i + 1
read out[i, t]
}
}",
    // Fenced by whoever reads.
    "param T in 1..
param N in 0..
mbarrier full { arrivals: T }
mbarrier empty { arrivals: 1 }
buffer staging[T]
role thread[t in 0..T] {
var p = producer(1)
for i in 0..N {
wait empty p.phase
write staging[t]
arrive full
advance p
}
}
role store {
var c = consumer(1)
for i in 0..N {
wait full c.phase
fence.proxy.async
for x in 0..T {
async store reads staging[x]
}
commit_group
wait_group 0
arrive empty
advance c
}
}",
    // Copies, tensor cores and an epilogue.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
mbarrier taken { arrivals: 1 }
buffer smem[S]
buffer acc { memory: tensor }
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
var a = producer(1)
for i in 0..N {
wait taken a.phase
wait full[c.index] c.phase
async mma reads smem[c.index] writes acc
commit empty[c.index]
commit done
advance c
advance a
}
}
role store {
var c = consumer(1)
for i in 0..N {
wait done c.phase
read acc
arrive taken
advance c
}
}",
    // Two CTAs of a cluster.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
buffer halo[2, 2, T]
role thread[cta in 0..2][t in 0..T] cta cta {
var phase = 0
for i in 0..N {
write halo[1 - cta, phase, t]
arrive.release.cluster bar[cta]
arrive.release.cluster bar[1 - cta]
wait.acquire.cluster bar[cta] phase
wait.acquire.cluster bar[1 - cta] phase
read halo[cta, phase, T - 1 - t]
phase = phase ^ 1
}
}",
    // Named barriers show what was written before.
    "param N in 0..
named bar[2]
buffer tile
buffer other
role writer warp {
for i in 0..N {
sync bar[0] 64
write tile
write other
arrive bar[1] 64
}
}
role reader warp {
for i in 0..N {
arrive bar[0] 64
sync bar[1] 64
read tile
fence.proxy.async
async store reads other
commit_group
wait_group 0
}
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("read", &["write"]),
    ("write", &["read"]),
    ("wait_group 0", &["wait_group 1", "wait_group 0 read"]),
    (".gpu", &[".cluster", ".cta", ".sys"]),
    (".cluster", &[".gpu", ".cta"]),
    (".release", &[".relaxed"]),
    (".acquire", &[".relaxed"]),
    ("cta 1", &["cta 0", "cta 2"]),
    ("cluster 1", &["cluster 0", "cta 1"]),
    ("fence.proxy.async", &["fence.release.gpu", "commit_group"]),
    (" { memory: tensor }", &[""]),
    ("t]", &["0]", "T - 1 - t]"]),
];
