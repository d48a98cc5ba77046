//! Mbarriers at which an arrival may count more than one, before they are mutated.

use super::edited::Kernels;

/// Protocols that the order rule proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("arrivals: 3 * W", &["arrivals: W", "arrivals: 3 * W + 1"]),
        (
            "arrivals: 3 * W + 1",
            &["arrivals: 3 * W", "arrivals: 4 * W"],
        ),
        (
            "arrivals: 5",
            &["arrivals: 3", "arrivals: 4", "arrivals: 6"],
        ),
        ("arrivals: B * W", &["arrivals: B", "arrivals: B * W + 1"]),
        (" 3", &[" 2", " 4", " (3 - i % 2)", " (1 + i % 3)"]),
        (" B", &[" W", " (B + 1)", " 1"]),
        ("[w in 0..W]", &["[w in 0..W + 1]", "[w in 0..1]"]),
        ("wait empty", &["wait full"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Warps that arrive for three lanes each.
    "param W in 1..
param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 3 * W }
role one {
for i in 0..N {
wait empty[i % 2] (i / 2 + 1) % 2
arrive full[i % 2]
}
}
role warps[w in 0..W] {
for i in 0..N {
wait full[i % 2] i / 2 % 2
arrive empty[i % 2] 3
}
}",
    // Beside one that arrives once, and expects bytes.
    "param W in 1..
param N in 0..
mbarrier full { arrivals: 3 * W + 1 }
mbarrier empty { arrivals: W }
role load {
for i in 0..N {
wait empty (i + 1) % 2
arrive_expect_tx full 8
async copy smem completes full 8
}
}
role scale[w in 0..W] {
for i in 0..N {
wait empty (i + 1) % 2
arrive full 3
}
}
role math[w in 0..W] {
for i in 0..N {
wait full i % 2
arrive empty
}
}",
    // Two that count differently.
    "param N in 0..
mbarrier full { arrivals: 5 }
mbarrier empty { arrivals: 1 }
role two {
for i in 0..N {
wait empty (i + 1) % 2
arrive full 2
}
}
role three {
for i in 0..N {
wait empty (i + 1) % 2
arrive full 3
}
}
role math {
for i in 0..N {
wait full i % 2
arrive empty
}
}",
    // As often as a parameter says.
    "param B in 1..
param W in 1..
param N in 0..
mbarrier met[2] { arrivals: B * W }
role warps[w in 0..W] {
for i in 0..N {
arrive met[i % 2] B
wait met[i % 2] i / 2 % 2
}
}",
    // In two places of a loop.
    "param N in 0..
mbarrier full[2] { arrivals: 3 }
mbarrier empty[2] { arrivals: 3 }
role one {
for i in 0..N {
wait empty[0] (i + 1) % 2
arrive full[0] 3
wait empty[1] (i + 1) % 2
arrive full[1] 3
}
}
role two {
for i in 0..N {
wait full[0] i % 2
arrive empty[0] 3
wait full[1] i % 2
arrive empty[1] 3
}
}",
];
