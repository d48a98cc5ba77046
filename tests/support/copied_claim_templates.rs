//! Claims of copies: CTAs with barriers of their own that meet at counters and barriers of the whole grid, or
//! that share nothing. They hold, before they are edited.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("C", &["(C + 1)", "(C - 1)", "1", "N", "max(C - 1, 1)"]),
        ("[c", &["[0", "[c"]),
        ("c == 0", &["c > 0", "c != 0", "c == 1", "c == C - 1"]),
        ("c > 0", &["c == 0", "c > 1", "c >= 0"]),
        ("met", &["own[c]", "gate"]),
        ("sync", &["arrive"]),
        ("assert", &["wait"]),
        (">=", &["==", "<="]),
        ("==", &["<=", ">=", "<"]),
        ("<=", &["==", "<"]),
    ],
};

const TEMPLATES: &[&str] = &[
    "param C in 1..
param T in 1..=2
param N in 0..
barrier own[C] { arrivals: T }
semaphore met = 0
invariant met <= C * N
role cta[c in 0..C][t in 0..T] {
for i in 0..N {
sync own[c]
assert own[c] >= i + 1
if t == 0 {
assert met >= i
met += 1
wait met >= (i + 1) * C
assert met >= (i + 1) * C
}
sync own[c]
assert met >= i
}
}",
    "param C in 1..
param T in 1..=2
barrier own[C] { arrivals: T }
semaphore met = 0
invariant met <= C
invariant [c in 0..C] own[c] <= 2
role cta[c in 0..C][t in 0..T] {
sync own[c]
if t == 0 {
met += 1
}
if c == 0 {
if t == 0 {
wait met >= C
assert met == C
}
sync own[c]
assert own[c] == 2
}
}",
    "param C in 1..
param N in 0..
barrier met { arrivals: C + 1 }
semaphore gate = 0
mbarrier own[C] { arrivals: 1 }
role lead {
for i in 0..N {
assert met == i
sync met
gate += 1
assert gate == i + 1
}
}
role cta[c in 0..C] {
for i in 0..N {
assert gate <= i + 1
sync met
assert met >= i + 1
wait gate >= i + 1
}
arrive own[c]
assert met == N
}",
    "param C in 1..
param S in 1..=2
param N in 0..
mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[C, S] { arrivals: 1 }
invariant [c in 0..C][s in 0..S] full[c, s] <= N
role load[c in 0..C] {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
assert full[c, p.index] == i / S
arrive full[c, p.index]
advance p
}
}
role math[c in 0..C] {
var q = consumer(S)
for i in 0..N {
wait full[c, q.index] q.phase
assert full[c, q.index] == i / S + 1
arrive empty[c, q.index]
advance q
}
}",
];
