//! Copies that read and write data, of their own and that of others: CTAs with barriers of their own that
//! meet at counters and barriers of the whole grid, or that share nothing but data. They work, before they
//! are edited.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("C", &["(C + 1)", "(C - 1)", "1"]),
        ("[c", &["[0", "[C - 1 - c", "[(c + 1) % C", "[c"]),
        ("[x", &["[0", "[(x + 1) % C", "[x"]),
        ("c == 0", &["c > 0", "c != 0", "c == 1", "c == C - 1"]),
        ("c > 0", &["c == 0", "c > 1", "c >= 0"]),
        ("i % 2", &["0", "(i + 1) % 2"]),
        ("met", &["own[c]"]),
        ("sync", &["arrive"]),
        ("red.release.gpu", &["red.release.cta", "red.relaxed.gpu"]),
        (".gpu", &[".cluster", ".cta"]),
        ("cta c", &["cta 0", "cta c + 1"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Split-K: each CTA writes its part, the first one sums them up.
    "param C in 1..
param T in 1..=2
semaphore met = 0
barrier own[C] { arrivals: T }
buffer part[C, T]
buffer out[T]
role cta[c in 0..C][t in 0..T] cta c {
write part[c, t]
sync own[c]
if t == 0 {
red.release.gpu met += 1
}
if c == 0 {
if t == 0 {
wait.acquire.gpu met >= C
}
sync own[c]
for x in 0..C {
read part[x, t]
}
write out[t]
}
}",
    // A step of a stencil each round: a barrier of the grid by one thread of each CTA.
    "param C in 1..
param T in 1..
param N in 0..
barrier own[C] { arrivals: T }
semaphore met = 0
buffer halo[2, C]
buffer smem[C, T]
role cta[c in 0..C][t in 0..T] cta c {
for i in 0..N {
write smem[c, t]
sync own[c]
if t == 0 {
read smem[c, T - 1]
write halo[i % 2, c]
met += 1
wait met >= (i + 1) * C
read halo[i % 2, (c + 1) % C]
}
sync own[c]
}
}",
    // The same at a barrier that all threads wait at.
    "param C in 1..
param T in 1..
param N in 0..
barrier own[C] { arrivals: T }
barrier met { arrivals: C }
buffer halo[2, C]
role cta[c in 0..C][t in 0..T] cta c {
for i in 0..N {
if t == 0 {
write halo[i % 2, c]
sync met
}
sync own[c]
read halo[i % 2, (c + 1) % C]
sync own[c]
}
}",
    // Rings of their own, results that a role of its own collects.
    "param C in 1..
param S in 1..=2
param N in 0..
mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
semaphore met = 0
buffer smem[C, S]
buffer out[C]
role load[c in 0..C] cta c {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
arrive_expect_tx full[c, p.index] 8
async copy smem[c, p.index] completes full[c, p.index] 8
advance p
}
}
role math[c in 0..C] cta c {
var q = consumer(S)
for i in 0..N {
wait full[c, q.index] q.phase
read smem[c, q.index]
arrive empty[c, q.index]
advance q
}
write out[c]
met += 1
}
role sum cta C {
wait met >= C
for x in 0..C {
read out[x]
}
}",
    // Everybody reads what the first CTA wrote, and the first one goes on when all have.
    "param C in 1..
param N in 0..
semaphore ready = 0
semaphore met = 0
mbarrier own[C] { arrivals: 1 }
buffer table
role lead[c in 0..C] cta c {
for i in 0..N {
arrive own[c]
wait own[c] i % 2
if c == 0 {
wait met >= i * (C - 1)
write table
ready += 1
} else {
wait ready >= i + 1
read table
met += 1
}
}
}",
    // CTAs that share nothing but data that nobody writes, and write what is theirs.
    "param C in 1..
param T in 1..=2
param N in 0..
mbarrier full[C] { arrivals: 1 }
mbarrier own[C] { arrivals: T }
buffer table[2]
buffer tile[C]
buffer out[C * T]
role load[c in 0..C] cta c {
var p = producer(1)
for i in 0..N {
wait own[c] p.phase
read table[i % 2]
write tile[c]
arrive full[c]
advance p
}
}
role math[c in 0..C][t in 0..T] cta c {
var q = consumer(1)
for i in 0..N {
wait full[c] q.phase
read tile[c]
write out[c * T + t]
arrive own[c]
advance q
}
}",
];
