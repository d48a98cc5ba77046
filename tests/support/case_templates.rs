//! Protocols that need cases, semaphores of single members or bytes left over, and work, before they
//! are mutated.

use super::edited::Kernels;

/// What is edited.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[
        ("break", &["return"]),
        (
            "i >= K",
            &["i == K", "i < K", "i > K", "K >= i", "i + 1 == N"],
        ),
        ("i == K", &["i >= K", "i == N - 1", "i <= K", "K == 1"]),
    ],
};

const TEMPLATES: &[&str] = &[
    // The last k-tile of a tile is not released: one tile, or few stages in use.
    "param S in 1..=3
param N in 0..
param K in 1..
assume N * K < K + S
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for tile in 0..N {
for k in 0..K {
var it = tile * K + k
wait empty[it % S] (it / S + 1) % 2
arrive full[it % S]
}
}
}
role mma {
for tile in 0..N {
for k in 0..K - 1 {
var it = tile * K + k
wait full[it % S] it / S % 2
commit empty[it % S]
}
}
}",
    // More bytes than expected, every stage used once.
    "param S in 1..=3
param N in 0..
param K in 1..
assume N <= S
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 10
async copy x completes full[p.index] 10 + K
advance p
}
}
role math {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}",
    // A counter that its only user sets back.
    "param T in 1..
param N in 0..
assume T <= 1
semaphore arrived = 0
role cta[t in 0..T] {
for i in 0..N {
arrived += 1
wait arrived == T
if t == 0 {
arrived = 0
}
}
}",
    // The same beside a counter that others look at.
    "param T in 1..
param N in 0..
semaphore turn = 2
semaphore done = 0
role lead {
for i in 0..N {
turn += 1
turn += 2
wait turn == 5
done += 1
turn = 2
}
}
role other[t in 0..T] {
for i in 0..N {
wait done >= i + 1
}
}",
    // Set to what the iteration says.
    "param N in 0..
semaphore turn = 0
mbarrier done { arrivals: 2 }
role lead {
for i in 0..N {
wait turn == i
turn = i + 1
arrive done
wait done i % 2
}
}
role other {
for i in 0..N {
arrive done
wait done i % 2
}
}",
    // Loops of a few iterations with variables of their own, and a length that is bounded.
    "param N in 0..
param K in 0..
param T in 1..
assume K <= 2
mbarrier done[3] { arrivals: T }
role thread[t in 0..T] {
for i in 0..N {
for j in 0..3 {
var slot = j
var phase = i % 2
arrive done[slot]
wait done[slot] phase
}
}
for j in 0..K {
var phase = (N + j) % 2
arrive done[0]
wait done[0] phase
}
}",
    // Two bytes of which one delivery is late, used once.
    "param N in 0..
param T in 1..
mbarrier full { arrivals: 1 }
role load {
arrive_expect_tx full 2
async copy x completes full 1 + T
}
role math[t in 0..T] {
wait full 0
}",
    // Loops that are left early, by both sides or in the last iteration.
    "param S in 1..=3
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
if i >= K {
break
}
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math {
var c = consumer(S)
for i in 0..N {
if i >= K {
break
}
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}",
    "param N in 1..
param K in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role load {
for i in 0..N {
arrive full
if i == K {
read x
break
}
wait empty i % 2
}
}
role math {
for i in 0..N {
wait full i % 2
if i == K {
break
}
arrive empty
}
}",
    // A return out of a loop, in all threads, and something after it.
    "param T in 1..
param N in 0..
param K in 0..
barrier cta { arrivals: T }
mbarrier done { arrivals: T }
role thread[t in 0..T] {
for i in 0..N {
if i >= K {
sync cta
return
}
arrive done
wait done i % 2
}
sync cta
}",
];
