//! Warps that count several times in one generation of a named barrier, before they are mutated.

use super::edited::Kernels;

/// Protocols that the order rule proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("W + 1", &["W", "W + 2"]),
        ("2 * W", &["W", "2 * W + 1"]),
        ("arrive bar[0]", &["arrive bar[1]", "sync bar[0]"]),
        ("96", &["64", "128"]),
        ("w == 0", &["w >= 0", "w == 1"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // One warp by itself.
    "param N in 0..
named bar[2]
role alone warp {
for i in 0..N {
arrive bar[0] 64
sync bar[0] 64
}
}",
    // Both wait, and one of them counts twice.
    "param N in 0..
named bar[2]
role one warp {
for i in 0..N {
arrive bar[0] 96
sync bar[0] 96
}
}
role two warp {
for i in 0..N {
sync bar[0] 96
}
}",
    // Two arrivals, and a way back.
    "param N in 0..
named bar[2]
role give warp {
for i in 0..N {
arrive bar[0] 96
arrive bar[0] 96
sync bar[1] 64
}
}
role take warp {
for i in 0..N {
sync bar[0] 96
sync bar[1] 64
}
}",
    // One warp of an epilogue waits for all, as one more.
    "param W in 1..
param N in 0..
named bar[2]
role epilogue[w in 0..W] warp {
for i in 0..N {
arrive bar[0] 32 * (W + 1)
if w == 0 {
sync bar[0] 32 * (W + 1)
}
sync bar[1] 32 * W
}
}",
    // Everybody counts twice, and only some wait.
    "param W in 1..
param N in 0..
named bar[2]
role many[w in 0..W] warp {
for i in 0..N {
arrive bar[0] 32 * (2 * W + 1)
sync bar[0] 32 * (2 * W + 1)
sync bar[1] 32 * (W + 1)
}
}
role one warp {
for i in 0..N {
arrive bar[0] 32 * (2 * W + 1)
sync bar[1] 32 * (W + 1)
}
}",
    // Arrivals apart: one before the other barrier, one behind it.
    "param W in 1..
param N in 0..
named bar[3]
role lead warp {
for i in 0..N {
arrive bar[0] 32 * (W + 2)
sync bar[1] 32 * (W + 1)
sync bar[0] 32 * (W + 2)
}
}
role rest[w in 0..W] warp {
for i in 0..N {
sync bar[1] 32 * (W + 1)
sync bar[0] 32 * (W + 2)
}
}",
];
