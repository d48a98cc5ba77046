//! Members that count themselves by `fetch_add`, the last of whom does something for all.

use super::edited::Kernels;

/// Counters whose old value says who comes last.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "t == S - 1",
            &[
                "t == S",
                "t == S - 2",
                "t + 1 == S",
                "t == 0",
                "t == 1",
                "t != S - 1",
            ],
        ),
        (
            "t + 1 != S",
            &["t != S", "t != S - 1", "t + 2 != S", "t + 1 == S"],
        ),
        (", 1)", &[", 2)", ", S)", ", 0)", ", t)"]),
        ("fetch_add(", &["exchange("]),
        ("[b] = 0", &["[b] = 1", "[0] = 0", "[b] += 1", "[b] = S"]),
        ("[b]", &["[0]", "[B - 1 - b]", "[b + 1]"]),
        ("[r]", &["[0]", "[R - 1 - r]"]),
        (
            "s in 0..S",
            &["s in 0..S + 1", "s in 0..S - 1", "s in 0..2 * S"],
        ),
        (">= 1", &[">= 2", ">= 0", "== 1"]),
        (">= S", &[">= S - 1", ">= 1", "== S"]),
        (">= R", &[">= R - 1", ">= R + 1", "== R"]),
        (
            "(r + 1) * S - 1",
            &["r * S + S - 1", "(r + 1) * S", "r * S", "(r + 1) * R - 1"],
        ),
        (">= r + 1", &[">= r", ">= r + 2", "== r + 1"]),
        ("+= 1", &["+= 2", "+= S", "+= t", "= 1"]),
        ("= 0", &["= 1"]),
        ("in 1..", &["in 0..", "in 2.."]),
        ("resident 1..", &["resident all", "resident B"]),
        ("resident all", &["resident 1..", "resident S"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // The last one combines, and sets the counter back.
    "param B in 1..
param S in 1..
semaphore arrived[B] = 0
semaphore combined[B] = 0
grid cta[b in 0..B][s in 0..S] launch any resident 1.. {
let t = fetch_add(arrived[b], 1)
if t == S - 1 {
arrived[b] = 0
combined[b] += 1
}
}
role host {
for b in 0..B {
wait combined[b] >= 1
}
}",
    // All but the last one leave.
    "param B in 1..
param S in 1..
semaphore arrived[B] = 0
semaphore combined[B] = 0
role cta[b in 0..B][s in 0..S] {
let t = fetch_add(arrived[b], 1)
if t + 1 != S {
return
}
for i in 0..2 {
combined[b] += 1
}
}
role host[b in 0..B] {
wait combined[b] >= 1
}",
    // A counter for each round, and a gate that the last one opens.
    "param S in 1..
param R in 0..
semaphore arrived[R] = 0
semaphore gate = 0
grid cta[s in 0..S] launch any resident all {
for r in 0..R {
let t = fetch_add(arrived[r], 1)
if t == S - 1 {
gate += 1
}
wait gate >= r + 1
}
}",
    // Two counters one behind the other.
    "param S in 1..
semaphore one = 0
semaphore other = 0
semaphore open = 0
semaphore done = 0
role cta[s in 0..S] {
let t = fetch_add(one, 1)
if t == S - 1 {
open += 1
}
wait open >= 1
let u = fetch_add(other, 1)
if u == S - 1 {
done += 1
}
}
role host {
wait done >= 1
wait one >= 1
}",
    // One counter for all rounds, set back before the gate opens.
    "param S in 1..
param R in 0..
semaphore arrived = 0
semaphore gate = 0
role cta[s in 0..S] {
for r in 0..R {
let t = fetch_add(arrived, 1)
if t == S - 1 {
arrived = 0
gate += 1
}
wait gate >= r + 1
}
}",
    // The same in groups, with the gate in front.
    "param B in 1..
param S in 1..
param R in 0..
semaphore arrived[B] = 0
semaphore gate[B] = 0
role cta[b in 0..B][s in 0..S] {
for r in 0..R {
wait gate[b] >= r
let t = fetch_add(arrived[b], 1)
if t == S - 1 {
arrived[b] = 0
gate[b] += 1
}
}
}
role host[b in 0..B] {
wait gate[b] >= R
}",
    // A counter that is never set back.
    "param S in 1..
param R in 0..
semaphore arrived = 0
semaphore gate = 0
role cta[s in 0..S] {
for r in 0..R {
let t = fetch_add(arrived, 1)
if t == (r + 1) * S - 1 {
gate += 1
}
wait gate >= r + 1
}
}",
    // The last to leave sets back what all have waited for.
    "param B in 1..
param S in 1..
semaphore arrived[B] = 0
semaphore left[B] = 0
role cta[b in 0..B][s in 0..S] {
arrived[b] += 1
wait arrived[b] >= S
let t = fetch_add(left[b], 1)
if t == S - 1 {
arrived[b] = 0
left[b] = 0
}
}",
];
