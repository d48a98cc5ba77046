//! Shapes at the edges of the kernel: families that may have no elements, and counters that nobody waits for.

use super::edited::Kernels;

/// One kernel per shape.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("[T]", &["[T + 1]", "[T - 1]", "[N]"]),
        ("[t]", &["[t + 1]", "[T - 1 - t]", "[0]"]),
        ("0..T", &["0..T + 1", "0..N", "1..T"]),
        ("done += 1", &["done += 2", "arrive full"]),
        (
            "busy += 1",
            &["wait busy >= 1", "busy += N", "wait freed >= 1"],
        ),
        (">= 1", &[">= 2", ">= 0"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // A flag for each tile, of which there may be none.
    "param T in 0..
semaphore ready[T] = 0
role writer {
for t in 0..T {
ready[t] += 1
}
}
role reader {
for t in 0..T {
wait ready[t] >= 1
}
}",
    // A barrier for each tile.
    "param T in 0..
param N in 0..
mbarrier full[T] { arrivals: 1 }
mbarrier last { arrivals: 1 }
role writer {
for t in 0..T {
arrive full[t]
}
arrive last
}
role reader {
for t in 0..T {
wait full[t] 0
}
wait last 0
}",
    // Counters of what is out and what has come back.
    "param N in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
semaphore busy = 0
semaphore freed = 0
role load {
for i in 0..N {
wait empty (i + 1) % 2
busy += 1
arrive full
}
}
role math {
for i in 0..N {
wait full i % 2
arrive empty
freed += 1
}
}",
    // Threads count the rounds between two barriers, and somebody may look.
    "param T in 1..=3
param N in 0..
barrier cta { arrivals: T }
semaphore done = 0
role thread[t in 0..T] {
for i in 0..N {
sync cta
done += 1
sync cta
}
}",
];
