//! Grids whose members take turns at counters: in the order of their numbers or another one, over rows of patterns and over ranges,
//! with places for all or for few.

use super::edited::Kernels;

/// Turns that are taken in turn.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "0..n where",
            &["0..n + 1 where", "n..N where", "1..n where", "0..N where"],
        ),
        (
            "visits[k, m]",
            &["visits[n, m]", "visits[k, 0]", "!visits[k, m]"],
        ),
        (
            "row(visits, n)",
            &["row(visits, 0)", "row(visits, N - 1 - n)"],
        ),
        ("any order", &["ascending", "descending"]),
        (
            "== n",
            &["== N - 1 - n", ">= n", "== n + 1", "== m", "== n / 2"],
        ),
        ("N - 1 - n", &["n", "N - n", "M - 1 - n"]),
        ("+= 1", &["+= 2", "+= n + 1", "+= 0"]),
        ("launch ascending", &["launch descending", "launch any"]),
        ("launch descending", &["launch ascending", "launch any"]),
        (
            "resident 1..",
            &["resident all", "resident N", "resident 2"],
        ),
        ("resident all", &["resident 1.."]),
        (
            "0..M",
            &[
                "0..N",
                "n..M",
                "1..M",
                "0..M descending",
                "0..min(n + 1, M)",
            ],
        ),
        ("m - 1", &["m", "0"]),
        ("M - 1", &["0", "M - 2"]),
        (
            "(n + m) % N",
            &["(n + 2 * m) % N", "(n + m) % M", "(n + N - m % N) % N"],
        ),
        ("m - n", &["n - m", "m"]),
        ("N + m - n", &["m - n", "N + m - n - 1"]),
        ("2 * c + r", &["c + 2 * r", "2 * c + 1 - r", "c"]),
        ("h / G", &["h % G", "h", "0"]),
        ("h % G", &["h / G", "G - 1 - h % G"]),
        ("= 0", &["= 1"]),
        ("m % 2 == 0", &["m % 2 == 1", "m == 0", "n % 2 == 0"]),
        ("return", &["accumulate nothing"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // The rank lock.
    "param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
for m in row(visits, n) any order {
wait dq[m] == count(k in 0..n where visits[k, m])
dq[m] += 1
}
}",
    // Who has nothing to do leaves; from the last to the first.
    "param N in 1..
param M in 1..
pattern visits[N, M]
semaphore dq[M] = 0
grid cta[n in 0..N] launch descending resident 1.. {
if count(m in 0..M where visits[n, m]) == 0 {
return
}
for m in row(visits, n) {
wait dq[m] >= count(k in n + 1..N where visits[k, m])
dq[m] += 1
}
}",
    // Two lists.
    "param N in 1..
param M in 1..
pattern visits[N, M]
pattern part[N, M]
pattern one[n in 0..N, m in 0..M] = visits[n, m] && part[n, m]
pattern two[n in 0..N, m in 0..M] = visits[n, m] && !part[n, m]
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
for m in row(one, n) {
wait dq[m] == count(k in 0..n where visits[k, m])
dq[m] += 1
}
for m in row(two, n) {
wait dq[m] == count(k in 0..n where visits[k, m])
dq[m] += 1
}
}",
    // All visit all, and give a tile back one tile later.
    "param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident 1.. {
for m in 0..M {
wait dq[m] == n
if m > 0 {
dq[m - 1] += 1
}
}
dq[M - 1] += 1
}",
    // Turns that rotate.
    "param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch ascending resident all {
for m in 0..M {
wait dq[m] == (n + m) % N
dq[m] += 1
}
}",
    // Forwards and backwards.
    "param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch any resident all {
for m in 0..M {
wait dq[m] == if m % 2 == 0 then n else N - 1 - n
dq[m] += 1
}
}",
    // Around, beginning at the own number.
    "param N in 1..
semaphore dq[N] = 0
role cta[n in 0..N] {
for m in n..N {
wait dq[m] == m - n
dq[m] += 1
}
for m in 0..n {
wait dq[m] == N + m - n
dq[m] += 1
}
}",
    // Causal: who comes to a tile stands next to each other.
    "param N in 1..
param M in 1..
semaphore dq[M] = 0
grid cta[n in 0..N] launch descending resident 1.. {
for m in n..M {
wait dq[m] == min(m, N - 1) - n
dq[m] += 1
}
}",
    // Pairs of members of a cluster, by rows.
    "param C in 1..
param M in 1..
pattern visits[2 * C, M]
semaphore dq[M] = 0
grid cta[c in 0..C][r in 0..2] launch ascending resident 1.. {
for m in row(visits, 2 * c + r) {
wait dq[m] == count(k in 0..2 * c + r where visits[k, m])
dq[m] += 1
}
}",
    // Heads that share a tile.
    "param N in 1..
param H in 1..=2
param G in 1..=2
semaphore dk[N, H] = 0
grid cta[h in 0..H * G][n in 0..N] launch h ascending, n descending resident 1.. {
wait dk[n, h / G] == h % G
dk[n, h / G] += 1
}",
    // Two counters, one after the other.
    "param N in 1..
param M in 1..
semaphore a[M] = 0
semaphore b[M] = 1
grid cta[n in 0..N] launch ascending resident 1.. {
for m in 0..M {
wait a[m] == n
a[m] += 1
wait b[m] == n + 1
b[m] += 1
}
}",
];
