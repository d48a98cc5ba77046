//! Groups of elements, paces that differ, and pools, before they are mutated.

use super::edited::Kernels;

/// Protocols that the kernel proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("[c,", &["[0,", "[C - 1 - c,", "[d,"]),
        ("[c]", &["[0]", "[(c + 1) % C]", "[d]", "[t]"]),
        ("0..C]", &["0..C - 1]", "0..C + 1]", "0..D]"]),
        ("[C,", &["[C + 1,", "[D,"]),
        ("[C]", &["[C + 1]", "[1]", "[D]"]),
        ("arrivals: D", &["arrivals: C", "arrivals: 2 * D"]),
        (">= D", &[">= C", ">= 1"]),
        ("== 0", &["< 1", ">= 0", "== 1"]),
        ("columns 2", &["columns 1", "columns 3", "columns D"]),
        ("= 2 * D", &["= D", "= 2 * C", "= 1"]),
        ("[c] 1", &["[c] 2", "[0] 1"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A ring for each CTA.
    "param C in 1..
param D in 1..
param N in 0..
mbarrier full[C, 2] { arrivals: 1 }
mbarrier empty[C, 2] { arrivals: D }
role load[c in 0..C] {
for i in 0..N {
wait empty[c, i % 2] (i / 2 + 1) % 2
commit full[c, i % 2]
}
}
role math[c in 0..C][d in 0..D] {
for i in 0..N {
wait full[c, i % 2] i / 2 % 2
arrive empty[c, i % 2]
}
}",
    // Members of a square meet at rows.
    "param C in 1..
param D in 1..
param N in 0..
semaphore x[C] = 0
mbarrier y[C] { arrivals: D }
role p[c in 0..C][d in 0..D] {
for i in 0..N {
x[c] += 1
wait y[c] i % 2
}
}
role q[c in 0..C][d in 0..D] {
for i in 0..N {
wait x[c] >= D * (i + 1)
arrive y[c]
}
}",
    // Clusters that meet, and one thread of each at a counter.
    "param C in 1..
param D in 1..
param N in 0..
barrier cluster[C] { arrivals: D }
semaphore arrived = 0
role thread[c in 0..C][t in 0..D] {
for i in 0..N {
sync cluster[c]
if t == 0 {
arrived += 1
wait arrived >= (i + 1) * C
}
sync cluster[c]
}
}",
    // Every thread of a cluster tells the other CTA.
    "param C in 1..
param D in 1..
mbarrier told[C, 2] { arrivals: D }
barrier end[C] { arrivals: 2 * D }
role thread[c in 0..C][t in 0..2][d in 0..D] {
arrive told[c, 1 - t]
wait told[c, t] 0
sync end[c]
}",
    // Warps that meet twice in each iteration, and the first gives the stage back.
    "param D in 1..
param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty[2] { arrivals: 1 }
barrier warps { arrivals: D }
role load {
for i in 0..N {
wait empty[i % 2] (i / 2 + 1) % 2
arrive full[i % 2]
}
}
role math[d in 0..D] {
for i in 0..N {
sync warps
wait full[i % 2] i / 2 % 2
sync warps
if d == 0 {
arrive empty[i % 2]
}
}
}",
    // Room that is held briefly.
    "param D in 1..
param N in 0..
pool columns = 3
mbarrier full { arrivals: D }
mbarrier empty { arrivals: 1 }
role worker[d in 0..D] {
for i in 0..N {
wait empty (i + 1) % 2
acquire columns 2
release columns 2
arrive full
}
}
role next {
for i in 0..N {
wait full i % 2
arrive empty
}
}",
    // Room for everybody, in each CTA.
    "param C in 1..
param D in 1..
param N in 0..
pool columns[C] = 2 * D
barrier cta[C] { arrivals: D }
role worker[c in 0..C][d in 0..D] {
acquire columns[c] 1
sync cta[c]
for i in 0..N {
acquire columns[c] 1
sync cta[c]
release columns[c] 1
}
}",
    // A counter that only one row raises, for everybody.
    "param C in 1..
param D in 1..
param N in 0..
semaphore seen[C] = 0
mbarrier go[C] { arrivals: D }
role p[c in 0..C][d in 0..D] {
for i in 0..N {
commit go[c]
wait seen[c] >= i + 1
}
}
role q[c in 0..C] {
for i in 0..N {
wait go[c] i % 2
seen[c] += 1
}
}",
];
