//! Protocols whose authors claim something of their states, before they are edited.

use super::edited::Kernels;

/// Synchronization and claims.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: REPLACEMENTS,
};

const TEMPLATES: &[&str] = &[
    // Rounds that are counted between two barriers.
    "param T in 1..
param N in 0..
barrier cta { arrivals: T }
semaphore done = 0
invariant done <= T * N
role thread[t in 0..T] {
for i in 0..N {
assert done <= T * i + T
sync cta
done += 1
sync cta
assert done == T * (i + 1)
}
assert done >= T * N
}",
    // A ring, and the phases that whoever passes a wait finds complete.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
invariant [i in 0..S] full[i] <= N
role load {
var p = producer(S)
for i in 0..N {
assert p.index < S
wait empty[p.index] p.phase
assert full[p.index] == p.count / S
assert empty[p.index] >= p.count / S
arrive full[p.index]
advance p
}
}
role math[t in 0..T] {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
assert full[c.index] == c.count / S + 1
assert empty[c.index] <= c.count / S
arrive empty[c.index]
advance c
}
}",
    // One slot.
    "param N in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
semaphore used = 0
invariant full <= empty + 1
invariant empty <= full
invariant used <= full + 1
role load {
var p = producer(1)
for i in 0..N {
wait empty p.phase
used += 1
assert used == i + 1
arrive full
advance p
}
}
role math {
var c = consumer(1)
for i in 0..N {
wait full c.phase
assert used == i + 1
assert full == i + 1 && empty == i
arrive empty
advance c
}
}",
    // Copies and commits.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
invariant done <= 1
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
assert full[p.index] <= p.count / S
arrive_expect_tx full[p.index] 8
async copy smem[p.index] completes full[p.index] 8
advance p
}
}
role math {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
assert full[c.index] == i / S + 1
commit empty[c.index]
advance c
}
assert done == 0
commit done
}
role store {
wait done 0
assert done == 1
assert full[0] >= 1 || N < 1
}",
    // Semaphores that are waited for.
    "param T in 1..
param N in 1..
semaphore ready[N] = 0
semaphore total = 1
mbarrier go { arrivals: T }
invariant total <= N + 1
invariant total >= 1
role leader {
wait go 0
for i in 0..N {
ready[i] += 2
total += 1
assert total == i + 2
}
}
role worker[t in 0..T] {
arrive go
for i in 0..N {
wait ready[i] >= 2
assert ready[i] == 2
assert total >= i + 1 && total <= N + 1
}
}",
    // Named barriers.
    "param W in 1..
param N in 0..
named bar[2]
semaphore filled = 0
invariant filled <= N
role producer warp {
for i in 0..N {
sync bar[0] 32 * (W + 1)
filled += 1
arrive bar[1] 32 * (W + 1)
}
}
role consumer[w in 0..W] warp {
for i in 0..N {
arrive bar[0] 32 * (W + 1)
sync bar[1] 32 * (W + 1)
assert filled == i + 1
assert bar[1] == i + 1 && bar[0] >= i
}
}",
    // A pool, and parameters.
    "param W in 1..=3
param C in 1..
pool regs = 10
barrier cta { arrivals: W }
invariant regs >= 0 && regs <= 10
role worker[w in 0..W] warp {
assert w < W
if w == 0 {
acquire regs 10
assert regs == 0
}
sync cta
if w == 0 {
release regs 5
assert regs >= 5
release regs 5
}
assert cta == 1 && C / 2 * 2 <= C
}",
    // Threads that exchange.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
barrier cta[2] { arrivals: T }
role thread[cta in 0..2][t in 0..T] {
var phase = 0
for i in 0..N {
sync cta[cta]
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
assert bar[cta] == i + 1
assert bar[1 - cta] <= i + 1 && bar[1 - cta] >= i
phase = phase ^ 1
}
}",
];

/// What a piece of text may become, beside what is edited in any protocol.
const REPLACEMENTS: &[(&str, &[&str])] = &[
    ("== i", &["<= i", ">= i"]),
    ("==", &["<=", ">=", "!="]),
    ("<=", &["<", "==", ">="]),
    (">=", &[">", "==", "<="]),
    ("+ 1", &["+ 0", "+ 2"]),
    ("i +", &["i -", "N +"]),
    ("c.count", &["p.count", "i"]),
    ("full[", &["empty["]),
    ("+= 1", &["+= 2", "+= 0"]),
    ("&&", &["||"]),
    ("||", &["&&"]),
    ("i / S", &["(i + 1) / S", "i"]),
];
