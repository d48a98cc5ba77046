//! Members that add to counters and wait for them in both directions, around rings, and across loops.

use super::edited::Kernels;

/// Counters that only grow.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "] = r + 1",
            &["] = r", "] = 2 * r + 1", "] = R - r", "] += 1"],
        ),
        ("[1 - g]", &["[g]", "[0]"]),
        (">= r + 1", &[">= r", ">= r + 2", ">= 2 * r + 1"]),
        (">= e + 1", &[">= e", ">= e + 2", ">= N"]),
        ("(n + 1) % N", &["n", "(n + N - 1) % N", "(n + 2) % N"]),
        ("(n + N - 1) % N", &["n", "(n + 1) % N"]),
        ("n - 1", &["n", "0"]),
        ("n + 1", &["n", "N - 1"]),
        ("n > 0", &["n > 1", "n >= 0", "r > 0"]),
        ("n < N - 1", &["n < N", "n < N - 2"]),
        ("+= 1", &["+= 2", "+= n + 1"]),
        ("== S", &["== S - 1", "== S + 1", "== 0", ">= S"]),
        ("== N * S", &["== N", "== N * S - 1", ">= N * S"]),
        ("launch ascending", &["launch descending", "launch any"]),
        ("launch descending", &["launch ascending", "launch any"]),
        (
            "resident 1..",
            &["resident all", "resident N", "resident 2"],
        ),
        ("n + 1..N", &["0..N", "n..N", "n + 2..N", "0..n"]),
        (">= 2", &[">= 1", ">= 3", "== 2"]),
        ("= 0", &["= 1"]),
        ("* N", &["* (N - 1)", "* (N + 1)", "* 2"]),
        ("- D", &["- D + 1", "- D - 1"]),
        ("s + 1", &["s + 2", "S - s", "s"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Neighbours, both ways.
    "param N in 2..
param R in 0..
semaphore a[N + 1] = 0
semaphore b[N + 1] = 0
role cta[n in 0..N] {
for r in 0..R {
if n > 0 {
b[n - 1] += 1
}
if n < N - 1 {
a[n + 1] += 1
}
if n > 0 {
wait a[n] >= r + 1
}
if n < N - 1 {
wait b[n] >= r + 1
}
}
}",
    // A wavefront.
    "param N in 1..
param R in 0..
semaphore done[N + 1] = 0
role cta[n in 0..N] {
for r in 0..R {
if n > 0 {
wait done[n - 1] >= r + 1
}
done[n] += 1
}
}",
    // Puts and gets around a ring, with credits.
    "param N in 1..
param D in 1..
param R in 0..
semaphore data[N] = 0
semaphore credit[N] = 0
role put[n in 0..N] {
for r in 0..R {
wait credit[n] >= r + 1 - D
data[(n + 1) % N] += 1
}
}
role get[n in 0..N] {
for r in 0..R {
wait data[n] >= r + 1
credit[(n + N - 1) % N] += 1
}
}",
    // A grid barrier, and then each for the next.
    "param N in 1..
param R in 0..
semaphore bar = 0
semaphore done[N + 1] = 0
role cta[n in 0..N] {
for r in 0..R {
bar += 1
wait bar >= (r + 1) * N
}
done[n] += 1
if n < N - 1 {
wait done[n + 1] >= 1
}
}",
    // All to all, in two orders.
    "param N in 1..
param E in 0..
semaphore flag[N, N] = 0
role rank[n in 0..N] {
for e in 0..E {
for p in 0..N {
flag[p, n] += 1
}
for p in 0..N descending {
wait flag[n, p] >= e + 1
}
}
}",
    // Tiles of the next member.
    "param N in 1..
param S in 1..
semaphore ready[N * S] = 0
role cta[n in 0..N] {
for s in 0..S {
ready[n * S + s] += 1
}
for s in 0..S {
wait ready[(n + 1) % N * S + s] >= 1
}
}",
    // Epochs that are stored.
    "param N in 1..
param R in 0..
semaphore flag[N] = 0
semaphore ack[N] = 0
role put[n in 0..N] {
for r in 0..R {
wait ack[n] >= r
st.release.sys flag[(n + 1) % N] = r + 1
}
}
role get[n in 0..N] {
for r in 0..R {
wait flag[n] >= r + 1
st.release.sys ack[(n + N - 1) % N] = r + 1
}
}",
    // The same between two.
    "param R in 0..
semaphore flag[2] = 0
role rank[g in 0..2] {
for r in 0..R {
flag[1 - g] = r + 1
wait flag[g] >= r + 1
}
}",
    // Two roles that supply one counter.
    "param N in 1..
param R in 0..
semaphore met = 0
role lead {
for r in 0..R {
met += 1
wait met >= (r + 1) * (N + 1)
}
}
role other[n in 0..N] {
for r in 0..R {
met += 1
wait met >= (r + 1) * (N + 1)
}
}",
    // A look back at who started before.
    "param N in 1..
semaphore state[N + 1] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
state[n] = 1
if n > 0 {
wait state[n - 1] >= 2
}
state[n] = 2
}",
    // Parts of those that started before, and one wait for their number.
    "param N in 1..
semaphore part[N + 1] = 0
semaphore over = 0
grid cta[n in 0..N] launch descending resident 1.. {
part[n] += 1
for d in n + 1..N {
wait part[d] >= 1
}
over += 1
}",
    // Exactly as many as there are.
    "param N in 1..
param S in 1..
semaphore done[N] = 0
semaphore total = 0
grid cta[n in 0..N][s in 0..S] launch any resident 1.. {
done[n] += 1
total += 1
}
role host {
for n in 0..N {
wait done[n] == S
}
wait total == N * S
}",
];
