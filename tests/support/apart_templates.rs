//! Kernels in which who arrives at an mbarrier delivers bytes to it later, as behind a barrier, or in several parts.

use super::edited::Kernels;

/// Mbarriers with transactions, and a barrier of all members.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        (
            "full[i % 2] 8",
            &["full[i % 2] 4", "full[(i + 1) % 2] 8", "full[i % 2] 16"],
        ),
        (
            "full[i % 2] 4",
            &["full[i % 2] 8", "full[(i + 1) % 2] 4", "full[0] 4"],
        ),
        (
            "full[(i + 1) % 2] 4",
            &["full[i % 2] 4", "full[(i + 1) % 2] 8"],
        ),
        ("full[0] 4", &["full[1] 4", "full[0] 8"]),
        ("full[0] 8", &["full[0] 4", "full[1] 8"]),
        (
            "full[(i + 1) % 2] 8",
            &["full[(i + 1) % 2] 4", "full[i % 2] 8"],
        ),
        ("N > i + 1", &["N > i", "N > i + 2", "N >= i"]),
        ("N >= 1", &["N >= 2", "N >= 0"]),
        ("(i / 2) % 2", &["(i / 2 + 1) % 2", "i % 2"]),
        ("96", &["64", "128"]),
        ("bar[1]", &["bar[0]"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Bytes are expected in front of a barrier and brought by two members behind it.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
named bar[2]
role lead warp {
for i in 0..N {
expect_tx full[i % 2] 8
arrive full[i % 2]
sync bar[0] 96
async copy tile completes full[i % 2] 4
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
}
}
role help warp {
for i in 0..N {
sync bar[0] 96
async copy tile completes full[i % 2] 4
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
}
}
role look warp {
for i in 0..N {
sync bar[0] 96
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
}
}",
    // The same a round ahead, and all of them delivered by who expects them.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
named bar[2]
role lead warp {
if N >= 1 {
expect_tx full[0] 4
arrive full[0]
}
sync bar[0] 96
if N >= 1 {
async copy tile completes full[0] 4
}
for i in 0..N {
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
if N > i + 1 {
expect_tx full[(i + 1) % 2] 4
arrive full[(i + 1) % 2]
}
sync bar[0] 96
if N > i + 1 {
async copy tile completes full[(i + 1) % 2] 4
}
}
}
role look[w in 0..2] warp {
sync bar[0] 96
for i in 0..N {
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
sync bar[0] 96
}
}",
    // Arrivals and deliveries are of different members, and one of the deliveries comes with its arrival.
    "param N in 0..
mbarrier full[2] { arrivals: 2 }
named bar[2]
role lead warp {
for i in 0..N {
expect_tx full[i % 2] 8
arrive full[i % 2]
sync bar[0] 64
async copy tile completes full[i % 2] 4
async copy tile completes full[i % 2] 4
wait full[i % 2] (i / 2) % 2
sync bar[1] 64
}
}
role help warp {
for i in 0..N {
expect_tx full[i % 2] 4
async copy tile completes full[i % 2] 4
arrive full[i % 2]
sync bar[0] 64
wait full[i % 2] (i / 2) % 2
sync bar[1] 64
}
}",
    // A barrier between two copies, too, and as many of them a round ahead.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
named bar[2]
role lead warp {
if N >= 1 {
expect_tx full[0] 8
arrive full[0]
}
sync bar[0] 96
if N >= 1 {
async copy tile completes full[0] 4
}
sync bar[1] 96
if N >= 1 {
async copy tile completes full[0] 4
}
for i in 0..N {
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
if N > i + 1 {
expect_tx full[(i + 1) % 2] 8
arrive full[(i + 1) % 2]
}
sync bar[0] 96
if N > i + 1 {
async copy tile completes full[(i + 1) % 2] 4
}
sync bar[0] 96
if N > i + 1 {
async copy tile completes full[(i + 1) % 2] 4
}
}
}
role look[w in 0..2] warp {
sync bar[0] 96
sync bar[1] 96
for i in 0..N {
wait full[i % 2] (i / 2) % 2
sync bar[1] 96
sync bar[0] 96
sync bar[0] 96
}
}",
];
