//! Shapes at the edges of the order rule: loops that are left early or run backwards, providers that
//! there may be none of, bytes that may be none, elements with numbers of their own, copies.

use super::edited::Kernels;

/// One kernel per shape.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("completes full", &["completes empty"]),
        ("full[0]", &["full[1]"]),
        ("full[1]", &["full[0]"]),
        ("* 32", &["* 32 + 32"]),
        ("i > 0", &["i > 1", "i >= 0"]),
        ("(i + 1) % 2", &["i % 2", "1 - i % 2", "(i - 1) % 2"]),
        ("B", &["(B - 1)", "2 * B", "0", "(B + 1)"]),
        ("V", &["(V + 1)", "(V - 1)", "W"]),
        ("W", &["(W + 1)", "V"]),
        ("K", &["(K - 1)", "0", "(K + 1)"]),
        ("w <", &["w >", "w =="]),
        ("arrive full", &["commit full", "expect_tx full 0"]),
        ("commit full", &["arrive full"]),
        ("c", &["0"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A loop that is left early.
    "param S in 1..=2
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
if i == K {
break
}
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math {
var c = consumer(S)
for i in 0..min(N, K) {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}",
    // The same in the middle of an iteration, and the rest of it behind.
    "param N in 0..
param K in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
mbarrier last { arrivals: 1 }
role load {
for i in 0..N {
wait empty (i + 1) % 2
if i >= K {
arrive full
return
}
arrive full
}
arrive last
}
role math {
for i in 0..min(N, K + 1) {
wait full i % 2
arrive empty
}
if N <= K {
wait last 0
}
}",
    // A program that is left, and a last wait.
    "param N in 0..
param K in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role load {
if N <= K {
return
}
for i in 0..N - K {
wait empty (i + 1) % 2
arrive full
}
wait empty (N - K + 1) % 2
}
role math {
for i in 0..N - K {
wait full i % 2
arrive empty
}
}",
    // Backwards, and from elsewhere on.
    "param N in 0..
param K in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 1 }
role load {
for i in 0..N descending {
wait empty[(N - 1 - i) % 2] ((N - 1 - i) / 2 + 1) % 2
arrive full[(N - 1 - i) % 2]
}
}
role math {
for i in K..N + K {
wait full[(i - K) % 2] (i - K) / 2 % 2
arrive empty[(i - K) % 2]
}
}",
    // Providers of two roles, one of which there may be none of.
    "param N in 0..
param W in 1..
param V in 0..
mbarrier full[2] { arrivals: W + V }
mbarrier empty { arrivals: 1 }
role a[w in 0..W] {
for i in 0..N {
if i > 0 {
wait empty (i - 1) % 2
}
arrive full[0]
}
}
role b[v in 0..V] {
for i in 0..N {
if i > 0 {
wait empty (i - 1) % 2
}
arrive full[0]
}
}
role m {
for i in 0..N {
wait full[0] i % 2
arrive empty
}
}",
    // The same where nobody waits but for those.
    "param N in 0..
param W in 0..
param V in 0..
mbarrier full { arrivals: W + 1 }
mbarrier empty { arrivals: V + 1 }
mbarrier back { arrivals: 1 }
role a[w in 0..W] {
for i in 0..N {
wait empty (i + 1) % 2
arrive full
}
}
role b[v in 0..V] {
for i in 0..N {
wait full i % 2
arrive empty
}
}
role c {
for i in 0..N {
arrive full
wait full i % 2
arrive empty
wait empty i % 2
}
}",
    // Members that are told apart by their index.
    "param N in 0..
param W in 1..
param V in 0..
mbarrier full { arrivals: W }
mbarrier more { arrivals: min(W, V + 1) }
mbarrier empty { arrivals: 1 }
role load[w in 0..W] {
for i in 0..N {
wait empty (i + 1) % 2
arrive full
if w <= V {
commit more
}
}
}
role math {
for i in 0..N {
wait full i % 2
wait more i % 2
arrive empty
}
}",
    // One leader that waits for all.
    "param N in 0..
param W in 1..
mbarrier full { arrivals: W }
mbarrier go { arrivals: 1 }
role team[w in 0..W] {
for i in 0..N {
arrive full
if w == 0 {
wait full i % 2
arrive go
}
wait go i % 2
}
}",
    // Two split-phase barriers, one of them a ring.
    "param T in 1..
param N in 0..
barrier one { arrivals: T + 1 }
barrier two[2] { arrivals: T }
role a[t in 0..T] {
for i in 0..N {
arrive one
arrive two[i % 2]
wait one
wait two[i % 2]
}
}
role b {
for i in 0..N {
arrive one
wait one
}
}",
    // Bytes of many, which may be none.
    "param T in 1..
param B in 1..
param N in 0..
mbarrier full { arrivals: T }
mbarrier empty { arrivals: 1 }
role load[t in 0..T] {
for i in 0..N {
wait empty (i + 1) % 2
expect_tx full B
expect_tx full 1
complete_tx full 1
commit full
async copy a completes full B
}
}
role math {
for i in 0..N {
wait full i % 2
arrive empty
}
}",
    // Copies side by side.
    "param C in 1..
param S in 1..=2
param N in 0..
mbarrier full[C, S] { arrivals: 1 }
mbarrier empty[S, C] { arrivals: 2 }
role load[c in 0..C] {
var p = producer(S)
for i in 0..N {
wait empty[p.index, c] p.phase
arrive full[c, p.index]
advance p
}
}
role math[c in 0..C][w in 0..2] {
var p = consumer(S)
for i in 0..N {
wait full[c, p.index] p.phase
arrive empty[p.index, c]
advance p
}
}",
    // One named barrier that some only arrive at.
    "param W in 1..
param N in 0..
named bar[2]
role a[w in 0..W] {
for i in 0..N {
sync bar[0] (W + 2) * 32
arrive bar[1] (W + 2) * 32
}
}
role b {
for i in 0..N {
arrive bar[0] (W + 2) * 32
sync bar[1] (W + 2) * 32
}
}
role c {
for i in 0..N {
sync bar[0] (W + 2) * 32
sync bar[1] (W + 2) * 32
}
}",
    // A ring that is drained.
    "param S in 1..=3
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for i in 0..N {
wait empty[i % S] (i / S + 1) % 2
arrive full[i % S]
}
for s in 0..S {
wait empty[(N + s) % S] ((N + s) / S + 1) % 2
}
}
role math {
for i in 0..N {
wait full[i % S] i / S % 2
arrive empty[i % S]
}
}",
    // Nobody but those who arrive, and in flight.
    "param N in 0..
param T in 1..
mbarrier full { arrivals: 2 * T }
role a[t in 0..T] {
for i in 0..N {
if i > 0 {
wait full (i - 1) % 2
}
commit full
}
}
role b[t in 0..T] {
for i in 0..N {
if i > 0 {
wait full (i - 1) % 2
}
arrive full
}
}",
    // A wait that begins one generation late.
    "param N in 1..
mbarrier full { arrivals: 1 }
mbarrier taken { arrivals: 1 }
mbarrier late { arrivals: 1 }
mbarrier begun { arrivals: 1 }
role load {
for i in 0..N {
if i > 0 {
wait taken (i - 1) % 2
}
if i > 1 {
wait late (i - 2) % 2
}
arrive full
}
}
role math {
for i in 0..N {
wait full i % 2
if i == 0 {
arrive begun
}
arrive taken
}
}
role slow {
if N > 1 {
wait begun 0
}
for i in 0..N - 1 {
wait full (i + 1) % 2
arrive late
}
}",
    // Inner loops of other lengths.
    "param N in 0..
param K in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 1 }
role load {
var p = producer(2)
for t in 0..N {
for k in 0..K {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
}
role math {
var c = consumer(2)
for t in 0..K {
for k in 0..N {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}
}",
    // Two elements that are told apart by number, each with a turn of its own.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 1 }
role load {
for i in 0..N {
wait empty[0] (i + 1) % 2
arrive full[0]
wait empty[1] (i + 1) % 2
arrive full[1]
}
}
role math {
for i in 0..N {
wait full[0] i % 2
wait full[1] i % 2
arrive empty[1]
arrive empty[0]
}
}",
    // Values one by one.
    "param S in {1, 3}
param N in {0, 2, 5}
param K in -2..=2
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for i in K..N {
wait empty[(i - K) % S] ((i - K) / S + 1) % 2
arrive full[(i - K) % S]
}
}
role math {
for i in 0..N - K {
wait full[i % S] i / S % 2
arrive empty[i % S]
}
}",
];
