//! Counters that one member sets back as soon as all others have come. They work, before they are
//! mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("met = 0", &["met = 1", "met = T", "met += 1", "met = i"]),
        (
            "met == T",
            &["met >= T", "met == T + 1", "met == N", "met == i"],
        ),
        ("met += 1", &["met += 2", "met += i", "met = 1"]),
        ("gate", &["met", "other"]),
        ("t == 0", &["t <= 1", "t > 0", "t == N"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // One of the threads collects.
    "param T in 1..
param N in 0..
semaphore met = 0
semaphore gate = 0
semaphore other = 0
role cta[t in 0..T + 1] {
for i in 0..N {
if t == 0 {
wait met == T
met = 0
gate += 1
} else {
met += 1
wait gate >= i + 1
}
}
}",
    // Somebody else does, twice a round, and the counter does not start from 0 again.
    "param T in 1..
param N in 0..
semaphore met = 1
semaphore gate = 0
semaphore other = 0
role worker[t in 0..T] {
for i in 0..N {
met += 1
wait gate >= 2 * i + 1
met += 1
wait gate == 2 * i + 2
}
}
role host {
for i in 0..N {
wait met == T + 1
met = 2
gate += 1
wait met == T + 2
met = 1
gate += 1
}
}",
    // CTAs of unknown number with an mbarrier of their own.
    "param T in 1..
param N in 0..
semaphore met = 0
semaphore gate = 0
semaphore other = 0
mbarrier full[T] { arrivals: 1 }
role load[t in 0..T] {
for i in 0..N {
wait gate >= i
arrive full[t]
}
}
role math[t in 0..T] {
for i in 0..N {
wait full[t] i % 2
met += 1
wait gate >= i + 1
}
}
role host {
for i in 0..N {
wait met == T
met = 0
gate += 1
}
}",
];
