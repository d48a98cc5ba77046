//! Clusters whose CTAs are the same but for their number, and wait for each other. They work, before they are
//! edited: then some of their CTAs are not the same any more.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("[c", &["[0", "[1", "[(c + 1) % 3", "[c"]),
        ("[1 - c", &["[c", "[0", "[1"]),
        ("[r", &["[0", "[1 - r", "[c"]),
        ("[1 - r", &["[r", "[1"]),
        ("[0", &["[1", "[c"]),
        ("[1", &["[0", "[c"]),
        ("[2", &["[1", "[c"]),
        ("arrivals: 3", &["arrivals: 2", "arrivals: 4"]),
        ("arrivals: 2", &["arrivals: 1", "arrivals: 3"]),
        ("(c + 1) % 3", &["(c + 2) % 3", "c", "0", "2 - c"]),
        ("0..3", &["0..2"]),
        ("math1 {", &["math1[w in 0..2] {"]),
        ("arrive both", &["wait both", ""]),
        ("wait both", &["arrive both", ""]),
        (
            "for i in 0..N",
            &["for i in c..N", "for i in 0..N + c", "for i in 0..N - c"],
        ),
    ],
};

const TEMPLATES: &[&str] = &[
    // Everybody tells everybody.
    "param N in 0..
mbarrier full[3] { arrivals: 3 }
role cta[c in 0..3] {
for i in 0..N {
arrive full[0]
arrive full[1]
arrive full[2]
wait full[c] i % 2
}
}",
    // Around a ring of CTAs, and back.
    "param N in 0..
mbarrier there[3] { arrivals: 1 }
mbarrier back[3] { arrivals: 1 }
role cta[c in 0..3] {
for i in 0..N {
arrive there[(c + 1) % 3]
wait there[c] i % 2
arrive back[c]
wait back[(c + 1) % 3] i % 2
}
}",
    // Multicast by halves: both CTAs release the places of both.
    "param S in 1..=2
param N in 0..
mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[2, S] { arrivals: 2 }
role load[c in 0..2] {
var p = producer(S)
for i in 0..N {
wait empty[c, p.index] p.phase
arrive_expect_tx full[c, p.index] 8
complete_tx full[c, p.index] 4
complete_tx full[1 - c, p.index] 4
advance p
}
}
role math[c in 0..2] {
var q = consumer(S)
for i in 0..N {
wait full[c, q.index] q.phase
arrive empty[0, q.index]
arrive empty[1, q.index]
advance q
}
}",
    // Rows and columns.
    "param N in 0..
mbarrier full[2, 2] { arrivals: 3 }
role cta[r in 0..2][c in 0..2] {
for i in 0..N {
arrive full[r, c]
arrive full[1 - r, c]
arrive full[r, 1 - c]
wait full[r, c] i % 2
}
}",
    // A leader and two that are alike.
    "param N in 0..
mbarrier go[3] { arrivals: 1 }
mbarrier done { arrivals: 2 }
role cta[c in 0..3] {
for i in 0..N {
if c == 0 {
arrive go[1]
arrive go[2]
wait done i % 2
} else {
wait go[c] i % 2
arrive done
}
}
}",
    // CTAs with roles of their own, one with its workers in two.
    "param N in 0..
mbarrier full[2, 2] { arrivals: 1 }
mbarrier empty[2, 2] { arrivals: 3 }
role load0 {
for i in 0..N {
wait empty[0, i % 2] (i / 2 + 1) % 2
arrive full[0, i % 2]
}
}
role load1 {
for i in 0..N {
wait empty[1, i % 2] (i / 2 + 1) % 2
arrive full[1, i % 2]
}
}
role math0[w in 0..2] {
for i in 0..N {
wait full[0, i % 2] i / 2 % 2
arrive empty[0, i % 2]
}
}
role math1 {
for i in 0..N {
wait full[1, i % 2] i / 2 % 2
arrive empty[1, i % 2]
}
}
role more1 {
for i in 0..N {
wait full[1, i % 2] i / 2 % 2
arrive empty[1, i % 2]
}
}
role tell0 {
for i in 0..N {
wait full[0, i % 2] i / 2 % 2
arrive empty[1, i % 2]
}
}
role tell1 {
for i in 0..N {
wait full[1, i % 2] i / 2 % 2
arrive empty[0, i % 2]
}
}",
    // A split-phase barrier whose arrivals are made before a loop and at its end.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
barrier both { arrivals: 2 }
role cta[c in 0..2] {
arrive both
for i in 0..N {
wait both
arrive full[1 - c]
wait full[c] i % 2
arrive both
}
wait both
}",
];
