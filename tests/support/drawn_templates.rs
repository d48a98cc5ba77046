//! Members that draw numbers from a counter, before they are mutated.

use super::edited::Kernels;

/// Protocols that the credit rule proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("t > 0", &["t > 1", "t >= 0", "true"]),
        ("t - 1", &["t", "(N - t)", "0", "(t + 1)"]),
        ("t >= N", &["t > N", "t >= N - 1", "t >= R"]),
        ("t < N", &["t <= N", "t < N - 1", "t < R"]),
        ("N + 1", &["N", "N - 1", "R"]),
        ("let t", &["flag[0] += 0 let t", "wait flag[0] >= 0 let t"]),
        ("resident R", &["resident 1", "resident all"]),
        (
            "fetch_add(next, 1)",
            &["fetch_add(next, 2)", "exchange(next, 1)"],
        ),
        ("next = 0", &["next = 1"]),
        ("n in 0..N", &["n in 0..N + 1", "n in 0..R"]),
        ("launch any", &["launch ascending", "launch descending"]),
        ("flag[t]", &["flag[n]", "next", "flag[0]"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A scan: each looks at the one before.
    "param N in 1..
param R in 1..
semaphore next = 0
semaphore flag[N + 1] = 0
grid cta[n in 0..N] launch any resident R {
let t = fetch_add(next, 1)
if t > 0 {
wait flag[t - 1] >= 1
}
flag[t] += 1
}",
    // All of those before.
    "param N in 1..
param R in 1..
semaphore next = 0
semaphore flag[N + 1] = 0
grid cta[n in 0..N] launch any resident R {
let t = fetch_add(next, 1)
for j in 0..t {
wait flag[j] >= 1
}
flag[t] += 1
}",
    // A lock.
    "param N in 1..
param R in 1..
semaphore next = 0
semaphore flag[N + 1] = 0
role thread[n in 0..N] {
let t = fetch_add(next, 1)
wait flag[0] >= t
flag[0] += 1
}",
    // Tiles that are handed out.
    "param N in 0..
param R in 1..
semaphore next = 0
semaphore flag[N + 1] = 0
role worker[n in 0..R] {
for j in 0..N + 1 {
let t = fetch_add(next, 1)
if t >= N {
break
}
flag[t] += 1
}
}
role last {
for j in 0..N {
wait flag[j] >= 1
}
}",
    // Each for the tile before.
    "param N in 0..
param R in 1..
semaphore next = 0
semaphore flag[N + 1] = 0
grid worker[n in 0..R] launch any resident R {
for j in 0..N + 1 {
let t = fetch_add(next, 1)
if t < N {
if t > 0 {
wait flag[t - 1] >= 1
}
flag[t] += 1
}
}
}",
];
