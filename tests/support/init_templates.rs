//! Protocols with explicit initialisation that work, before they are mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[],
};

const TEMPLATES: &[&str] = &[
    // One thread initialises, a barrier of all orders that before the uses.
    "param T in 1..
param N in 0..
barrier cta { arrivals: T }
mbarrier done { arrivals: T, init: explicit }
role thread[t in 0..T] {
if t == 0 {
init done
}
sync cta
for i in 0..N {
arrive done
wait done i % 2
}
}",
    // A ring, initialised by the loader.
    "param S in 1..=3
param T in 1..
param N in 0..
barrier cta { arrivals: T + 1 }
mbarrier full[S] { arrivals: 1, init: explicit }
mbarrier empty[S] { arrivals: T, init: explicit }
role load {
for s in 0..S {
init full[s]
init empty[s]
}
sync cta
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math[t in 0..T] {
sync cta
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}",
    // Somebody else initialises, the barrier is split-phase, bytes are counted.
    "param S in 1..=2
param N in 0..
barrier cta { arrivals: 3 }
mbarrier full[S] { arrivals: 1, init: explicit }
mbarrier empty[S] { arrivals: 1, init: explicit }
role setup {
for s in 0..S {
init full[s]
}
for s in 0..S {
init empty[s]
}
arrive cta
}
role load {
arrive cta
wait cta
for i in 0..N {
wait empty[i % S] (i / S + 1) % 2
arrive_expect_tx full[i % S] 10
async copy x completes full[i % S] 10
}
}
role math {
sync cta
for i in 0..N {
wait full[i % S] i / S % 2
commit empty[i % S]
}
}",
    // Two CTAs that arrive at each other, each with a barrier of its own, after a cluster barrier.
    "param T in 1..
param N in 0..
barrier cluster { arrivals: 2 * T }
mbarrier bar[2] { arrivals: 2 * T, init: explicit }
role thread[cta in 0..2][t in 0..T] {
if t == 0 {
init bar[cta]
}
sync cluster
var phase = 0
for i in 0..N {
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
phase = phase ^ 1
}
}",
    // An mbarrier that is initialised itself orders the initialisation of another.
    "param T in 1..
param N in 0..
mbarrier ready { arrivals: 1 }
mbarrier done { arrivals: T, init: explicit }
role setup {
init done
arrive ready
}
role thread[t in 0..T] {
wait ready 0
for i in 0..N {
arrive done
wait done i % 2
}
}",
    // Named barriers, and initialisation between two uses of the same one.
    "param T in 1..
param N in 0..
named bar[16]
mbarrier done { arrivals: T, init: explicit }
role lead warp {
sync bar[1] 32 * (T + 1)
init done
sync bar[1] 32 * (T + 1)
wait done 0
}
role math[t in 0..T] warp {
sync bar[1] 32 * (T + 1)
sync bar[1] 32 * (T + 1)
arrive done
}",
];
