//! Turns whose last one sets the semaphore back, before they are mutated.

use super::edited::Kernels;

/// Protocols that the ticket rule proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "(s + 1) % S",
            &[
                "(s + 1) % N",
                "(s + 1) % (S + 1)",
                "s % S",
                "(s + 2) % S",
                "s + 1",
                "0",
            ],
        ),
        ("turn[n]", &["turn[0]", "turn[s]"]),
        (
            "s == S - 1",
            &["s == S", "s == S - 2", "s == 0", "s >= S - 1", "s != S - 1"],
        ),
        ("s + 1 < S", &["s < S", "s + 2 < S", "s + 1 <= S"]),
        ("s in 0..S", &["s in 0..S + 1", "s in 0..N"]),
        (
            "wait turn[n] == s",
            &[
                "wait turn[n] >= s",
                "wait turn[n] == 0",
                "wait turn[n] == S - 1 - s",
            ],
        ),
        ("turn[n] = 0", &["turn[n] = 1", "turn[n] += 1"]),
        ("turn[N] = 0", &["turn[N] = 1"]),
        ("ascending", &["descending", "any"]),
        ("resident 2", &["resident 1", "resident all"]),
        ("0..M", &["0..2", "0..1"]),
    ],
};

const TEMPLATES: &[&str] = &[
    "param N in 1..
param S in 1..
semaphore turn[N] = 0
grid cta[n in 0..N][s in 0..S] launch ascending resident 2 {
wait turn[n] == s
turn[n] = (s + 1) % S
}",
    "param N in 1..
param S in 1..
semaphore turn[N] = 0
grid cta[n in 0..N][s in 0..S] launch ascending resident 2 {
wait turn[n] == s
if s == S - 1 {
turn[n] = 0
} else {
turn[n] += 1
}
}",
    "param N in 1..
param S in 1..
semaphore turn[N] = 0
grid cta[s in 0..S] launch ascending resident 2 {
for n in 0..N {
wait turn[n] == s
if s + 1 < S {
turn[n] = s + 1
} else {
turn[n] = 0
}
}
}",
    "param N in 1..
param S in 1..
semaphore turn[N] = 0
grid cta[n in 0..N][s in 0..S] launch any resident all {
wait turn[n] == s
turn[n] = if s == S - 1 then 0 else s + 1
}",
];
