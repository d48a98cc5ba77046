//! Named barriers in whose generations not always the same warps take part, and loops with a last part behind them, before they are
//! mutated.

use super::edited::Kernels;

/// Protocols that the order rule proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("W + 1", &["W", "W + 2"]),
        ("2 * W", &["W", "2 * W + 1"]),
        ("arrive bar[0]", &["arrive bar[1]", "sync bar[0]"]),
        ("sync bar[1]", &["sync bar[0]", "arrive bar[1]"]),
        ("128", &["96", "64", "160"]),
        ("160", &["128", "192"]),
        ("96", &["64", "128"]),
        ("w == 0", &["w >= 0", "w == 1"]),
        ("max(N - 1, 0)", &["N", "max(N - 2, 0)", "max(N, 1)"]),
        ("0..N", &["0..1", "0..N + 1", "1..N"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Two take turns, and the first one gives itself the first turn.
    "param N in 0..
named bar[2]
role one warp {
arrive bar[0] 64
for i in 0..N {
sync bar[0] 64
arrive bar[1] 64
}
}
role two warp {
for i in 0..N {
sync bar[1] 64
arrive bar[0] 64
}
}",
    // The same of groups of warps.
    "param W in 1..
param N in 0..
named bar[2]
role one[w in 0..W] warp {
arrive bar[0] 32 * (2 * W)
for i in 0..N {
sync bar[0] 32 * (2 * W)
arrive bar[1] 32 * (2 * W)
}
}
role two[w in 0..W] warp {
for i in 0..N {
sync bar[1] 32 * (2 * W)
arrive bar[0] 32 * (2 * W)
}
}",
    // Three take turns.
    "param N in 0..
named bar[3]
role one warp {
arrive bar[0] 64
for i in 0..N {
sync bar[0] 64
arrive bar[1] 64
}
}
role two warp {
for i in 0..N {
sync bar[1] 64
arrive bar[2] 64
}
}
role three warp {
for i in 0..N {
sync bar[2] 64
arrive bar[0] 64
}
}",
    // An epilogue meets, and then meets once more with the warp that stores.
    "param N in 0..
named bar[1]
role rest[w in 0..3] warp {
sync bar[0] 128
arrive bar[0] 160
}
role store warp {
sync bar[0] 128
arrive bar[0] 160
sync bar[0] 160
}",
    // Twice, with all the warps that there are.
    "param W in 1..
named bar[2]
role rest[w in 0..W] warp {
sync bar[0] 32 * (W + 1)
sync bar[0] 32 * (W + 2)
sync bar[0] 32 * (W + 1)
sync bar[0] 32 * (W + 2)
}
role store warp {
sync bar[0] 32 * (W + 1)
arrive bar[0] 32 * (W + 2)
sync bar[0] 32 * (W + 2)
sync bar[0] 32 * (W + 1)
arrive bar[0] 32 * (W + 2)
sync bar[0] 32 * (W + 2)
}",
    // One joins later.
    "param N in 0..
named bar[2]
role many[w in 0..2] warp {
sync bar[0] 64
sync bar[1] 96
sync bar[0] 96
sync bar[0] 96
}
role late warp {
sync bar[1] 96
sync bar[0] 96
sync bar[0] 96
}",
    // One leaves earlier.
    "param N in 0..
named bar[2]
role many[w in 0..2] warp {
for i in 0..N {
sync bar[0] 96
}
sync bar[0] 64
}
role early warp {
for i in 0..N {
sync bar[0] 96
}
}",
    // One in place of another, on a barrier that changes hands.
    "param N in 0..
named bar[2]
role first warp {
for i in 0..3 {
sync bar[0] 64
}
sync bar[1] 96
}
role both warp {
for i in 0..3 {
sync bar[0] 64
}
sync bar[1] 96
sync bar[0] 64
}
role then warp {
sync bar[1] 96
arrive bar[0] 64
}",
    // What is left of a loop stands behind it; and a barrier at which nobody arrives.
    "param N in 1..
mbarrier x { arrivals: 1 }
mbarrier y { arrivals: 1 }
mbarrier z { arrivals: 1 }
role ahead {
wait z 1
for i in 0..max(N - 1, 0) {
arrive x
wait y i % 2
}
arrive x
wait y max(N - 1, 0) % 2
}
role behind {
for i in 0..N {
wait x i % 2
arrive y
}
}",
    // The same in rounds.
    "param N in 1..
param M in 0..
named bar[2]
role ahead warp {
for j in 0..M {
for i in 0..max(N - 1, 0) {
arrive bar[0] 64
sync bar[1] 64
}
arrive bar[0] 64
sync bar[1] 64
}
}
role behind warp {
for j in 0..M {
for i in 0..N {
sync bar[0] 64
arrive bar[1] 64
}
}
}",
];
