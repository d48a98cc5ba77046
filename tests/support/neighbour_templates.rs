//! Elements of neighbours, waits for one value, and mbarriers that somebody initialises, before they are mutated.

use super::edited::Kernels;

/// Protocols that the kernel proves.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("(c + 1) % C", &["(c + 2) % C", "c", "(C - c) % C", "0"]),
        ("(c + C - 1) % C", &["(c + 1) % C", "c", "C - 1 - c"]),
        ("[c + 1]", &["[c]", "[(c + 1) % C]", "[C - 1 - c]"]),
        (">= i ", &[">= i + 1 ", "== i "]),
        (">= i + 1", &[">= i", "== i + 1", ">= i + 2"]),
        ("== (i + 1) * C", &[">= (i + 1) * C", "== i * C", "== C"]),
        ("c < C - 1", &["c < C", "c > 0", "c < C - 2"]),
        ("t == 0", &["t <= 1", "t == 1", "T == 1"]),
        ("for s in 0..2", &["for s in 0..1", "for s in 1..2"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // Members of a ring tell the next one, which answers.
    "param C in 1..
param N in 0..
semaphore flag[C] = 0
semaphore ack[C] = 0
role put[c in 0..C] {
for i in 0..N {
wait ack[c] >= i 
flag[(c + 1) % C] += 1
}
}
role get[c in 0..C] {
for i in 0..N {
wait flag[c] >= i + 1
ack[(c + C - 1) % C] += 1
}
}",
    // Members of a ring tell both sides.
    "param C in 1..
param N in 0..
semaphore right[C] = 0
semaphore left[C] = 0
role cta[c in 0..C] {
for i in 0..N {
right[(c + 1) % C] += 1
left[(c + C - 1) % C] += 1
wait right[c] >= i + 1
wait left[c] >= i + 1
}
}",
    // Each waits for the one behind it.
    "param C in 1..
param N in 0..
semaphore flag[C] = 0
role cta[c in 0..C] {
for i in 0..N {
if c < C - 1 {
wait flag[c + 1] >= i + 1
}
flag[c] += 1
}
}",
    // A leader waits until just so many have come.
    "param C in 0..
param N in 0..
semaphore arrived = 0
semaphore gate = 0
role leader {
for i in 0..N {
wait arrived == (i + 1) * C
gate += 1
}
}
role others[c in 0..C] {
for i in 0..N {
arrived += 1
wait gate >= i + 1
}
}",
    // One role initialises what others use behind a barrier.
    "param T in 1..
param N in 0..
barrier cta { arrivals: T + 1 }
mbarrier full[2] { arrivals: 1, init: explicit }
mbarrier empty[2] { arrivals: T, init: explicit }
role load {
for s in 0..2 {
init full[s]
init empty[s]
}
sync cta
for i in 0..N {
wait empty[i % 2] (i / 2 + 1) % 2
arrive full[i % 2]
}
}
role math[t in 0..T] {
sync cta
for i in 0..N {
wait full[i % 2] i / 2 % 2
arrive empty[i % 2]
}
}",
    // Only one of the threads initialises.
    "param T in 1..
barrier cta { arrivals: T }
mbarrier done { arrivals: T, init: explicit }
role thread[t in 0..T] {
if t == 0 {
init done
}
sync cta
arrive done
wait done 0
}",
];
