//! Protocols that work, before they are mutated.

use super::edited::Kernels;

/// Synchronization only.
pub const KERNELS: Kernels = Kernels {
    templates: TEMPLATES,
    replacements: &[],
};

const TEMPLATES: &[&str] = &[
    // A ring with pipeline states.
    "param S in 1..=3
param T in 1..
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
role math[t in 0..T] {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
}",
    // Index and phase by hand.
    "param S in 1..=3
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var slot = 0
var phase = 1
for i in 0..N {
wait empty[slot] phase
arrive full[slot]
slot = slot + 1
if slot == S {
slot = 0
phase = phase ^ 1
}
}
}
role math {
var slot = 0
var phase = 0
for i in 0..N {
wait full[slot] phase
arrive empty[slot]
slot = slot + 1
if slot == S {
slot = 0
phase = phase ^ 1
}
}
}",
    // Guarded waits, parities from the iteration.
    "param S in 1..=3
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
for i in 0..N {
if i >= S {
wait empty[i % S] (i - S) / S % 2
}
arrive full[i % S]
}
}
role math {
for i in 0..N {
wait full[i % S] i / S % 2
arrive empty[i % S]
}
}",
    // Tiles and k-tiles.
    "param S in 1..=2
param N in 0..
param K in 1..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier done { arrivals: 1 }
mbarrier taken { arrivals: 1 }
role load {
var p = producer(S)
for tile in 0..N {
for i in 0..K {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
}
}
role math {
var c = consumer(S)
var a = producer(1)
for tile in 0..N {
wait taken a.phase
for i in 0..K {
wait full[c.index] c.phase
arrive empty[c.index]
advance c
}
arrive done
advance a
}
}
role store {
var c = consumer(1)
for tile in 0..N {
wait done c.phase
arrive taken
advance c
}
}",
    // Two CTAs that tell each other.
    "param T in 1..
param N in 0..
mbarrier bar[2] { arrivals: 2 * T }
role thread[cta in 0..2][t in 0..T] {
var phase = 0
for i in 0..N {
arrive bar[cta]
arrive bar[1 - cta]
wait bar[cta] phase
phase = phase ^ 1
}
}",
    // One barrier, everybody.
    "param T in 1..
param N in 0..
mbarrier bar { arrivals: T }
role thread[t in 0..T] {
var phase = 0
for i in 0..N {
arrive bar
wait bar phase
phase = 1 - phase
}
}",
    // The first thread goes around alone.
    "param T in 1..
param N in 0..
mbarrier go { arrivals: 1 }
mbarrier back { arrivals: T }
role thread[t in 0..T] {
for i in 0..N {
if t == 0 {
wait back (i + 1) % 2
arrive go
}
wait go i % 2
arrive back
}
}",
    // Peeled rounds.
    "param N in 1..
mbarrier ping { arrivals: 1 }
mbarrier pong { arrivals: 1 }
role a {
arrive ping
wait pong 0
for i in 1..N {
arrive ping
wait pong i % 2
}
}
role b {
for i in 0..N - 1 {
wait ping i % 2
arrive pong
}
wait ping (N - 1) % 2
arrive pong
}",
    // Waits written out.
    "param T in 1..
mbarrier bar[2] { arrivals: T }
role thread[t in 0..T] {
arrive bar[0]
wait bar[0] 0
arrive bar[1]
wait bar[1] 0
arrive bar[0]
wait bar[0] 1
arrive bar[1]
wait bar[1] 1
}",
    // A mbarrier per round.
    "param T in 1..
param N in 0..
mbarrier bar[N] { arrivals: T }
role thread[t in 0..T] {
for i in 0..N {
arrive bar[i]
wait bar[i] 0
}
}
role late {
for i in 0..N descending {
wait bar[i] 0
}
}",
    // Named barriers: producer and consumers.
    "param T in 1..
param N in 0..
named bar[4]
role producer warp {
for i in 0..N {
sync bar[0] 32 * (T + 1)
arrive bar[1] 32 * (T + 1)
}
}
role consumer[t in 0..T] warp {
for i in 0..N {
arrive bar[0] 32 * (T + 1)
sync bar[1] 32 * (T + 1)
}
}",
    // Named barriers: two buffers.
    "param T in 1..
param N in 0..
named bar[4]
role producer warp {
for i in 0..N {
if i >= 2 {
sync bar[i % 2] 32 * (T + 1)
}
arrive bar[2 + i % 2] 32 * (T + 1)
}
}
role consumer[t in 0..T] warp {
for i in 0..N {
sync bar[2 + i % 2] 32 * (T + 1)
if i < N - 2 {
arrive bar[i % 2] 32 * (T + 1)
}
}
}",
    // Named barriers: everybody, twice.
    "param T in 1..
param N in 0..
named bar[2]
role worker[t in 0..T] warp {
for i in 0..N {
sync bar[0] 32 * T
if t == 0 {
read x
}
sync bar[1] 32 * T
}
}",
    // Split-phase, far apart.
    "param T in 1..
param N in 0..
barrier meet { arrivals: T + 1 }
mbarrier m { arrivals: T }
role worker[t in 0..T] {
for i in 0..N {
arrive meet
arrive m
wait meet
}
}
role other {
for i in 0..N {
arrive meet
wait m i % 2
wait meet
}
}",
    // Split-phase, around a loop.
    "param T in 1..
param N in 1..
barrier meet[2] { arrivals: T }
role worker[t in 0..T] {
arrive meet[0]
for i in 1..N {
arrive meet[1]
wait meet[1]
}
wait meet[0]
sync meet[0]
}",
    // A counting grid barrier.
    "param T in 1..
param N in 0..
semaphore total = 0
grid cta[t in 0..T] launch any resident all {
for i in 0..N {
total += 1
wait total >= T * (i + 1)
}
}",
    // Turns.
    "param N in 0..
semaphore turn = 0
role a {
for i in 0..N {
wait turn == 2 * i
turn += 1
}
}
role b {
for i in 0..N {
wait turn == 2 * i + 1
turn += 1
}
}",
    // A counter with several adders, and a strict wait for all.
    "param T in 1..
param N in 0..
semaphore done[2] = 0
role worker[t in 0..T] {
for i in 0..N {
done[0] += 1
wait done[1] >= i + 1
}
}
role chief {
for i in 0..N {
wait done[0] == T * (i + 1)
done[1] += 1
}
}",
    // Copies and commits.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 10
async copy x completes full[p.index] 10
advance p
}
}
role math {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
commit empty[c.index]
advance c
}
}",
    // Two loaders that share a barrier.
    "param S in 1..=2
param N in 0..
mbarrier full[S] { arrivals: 2 }
mbarrier empty[S] { arrivals: 1 }
role left {
for i in 0..N {
wait empty[i % S] (i / S + 1) % 2
arrive_expect_tx full[i % S] 10
async copy x completes full[i % S] 10
}
}
role right {
for i in 0..N {
wait empty[i % S] (i / S + 1) % 2
arrive_expect_tx full[i % S] 20
async copy y completes full[i % S] 20
}
}
role math {
for i in 0..N {
wait full[i % S] i / S % 2
commit empty[i % S]
}
}",
    // One expects, another copies.
    "param N in 0..
mbarrier full[2] { arrivals: 1 }
mbarrier empty { arrivals: 2 }
role boss {
for i in 0..N {
wait empty (i + 1) % 2
arrive_expect_tx full[0] 10
arrive_expect_tx full[1] 10
}
}
role copier {
for i in 0..N {
wait empty (i + 1) % 2
async copy x completes full[0] 10
complete_tx full[1] 10
}
}
role left {
for i in 0..N {
wait full[0] i % 2
arrive empty
}
}
role right {
for i in 0..N {
wait full[1] i % 2
commit empty
}
}",
    // Members with parts of their own.
    "param T in 2..
param N in 0..
mbarrier a { arrivals: T - 1 }
mbarrier b { arrivals: 1 }
role thread[t in 0..T] {
for i in 0..N {
if t == T - 1 {
wait a i % 2
arrive b
} else {
arrive a
wait b i % 2
}
}
}",
    // Every second round.
    "param N in 0..
mbarrier full { arrivals: 1 }
mbarrier empty { arrivals: 1 }
role load {
for i in 0..N {
if i % 2 == 0 {
wait empty (i / 2 + 1) % 2
arrive full
}
}
}
role math {
for i in 0..N {
if i % 2 == 0 {
wait full i / 2 % 2
arrive empty
}
}
}",
    // Early return.
    "param T in 1..
param N in 0..
mbarrier bar { arrivals: min(T, N) }
role thread[t in 0..T] {
if t >= N {
return
}
arrive bar
wait bar 0
arrive bar
wait bar 1
}",
    // A ring for many consumers, parities by hand.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
role producer {
for i in 0..N {
wait empty[i % S] (i / S + 1) % 2
arrive full[i % S]
}
}
role consumer[t in 0..T] {
for i in 0..N {
wait full[i % S] i / S % 2
arrive empty[i % S]
}
}",
    // Bytes, commits and an epilogue.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
mbarrier acc { arrivals: 1 }
mbarrier free { arrivals: T }
role load {
var p = producer(S)
for tile in 0..N {
for k in 0..K {
wait empty[p.index] p.phase
arrive_expect_tx full[p.index] 8
async copy smem completes full[p.index] 8
advance p
}
}
}
role mma {
var c = consumer(S)
var a = producer(1)
for tile in 0..N {
wait free a.phase
for k in 0..K {
wait full[c.index] c.phase
commit empty[c.index]
advance c
}
commit acc
advance a
}
}
role epilogue[t in 0..T] {
var c = consumer(1)
for tile in 0..N {
wait acc c.phase
arrive free
advance c
}
}",
    // Named barriers: warps that pass one another.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
named bar[4]
role producer warp {
for i in 0..N {
sync bar[0] 32 * (T + 1)
arrive bar[1] 32 * (T + 1)
}
}
role consumer[t in 0..T] warp {
for i in 0..N {
arrive bar[0] 32 * (T + 1)
sync bar[1] 32 * (T + 1)
}
}",
    // A split-phase barrier and a leader that waits.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
barrier meet { arrivals: T + 1 }
mbarrier done { arrivals: T }
role leader {
for i in 0..N {
sync meet
wait done i % 2
}
}
role thread[t in 0..T] {
for i in 0..N {
arrive done
sync meet
}
}",
    // Counters that take turns.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
semaphore ready = 0
semaphore taken = 0
role one {
for i in 0..N {
wait taken == i
ready += 1
}
}
role two {
for i in 0..N {
wait ready == i + 1
taken += 1
}
}",
    // Toggles under a guard, two trip counts for one number of rounds.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
role producer {
var stage = 0
var phase = 1
for tile in 0..N {
for k in 0..K {
if tile * K + k >= S {
wait empty[stage] phase
}
arrive full[stage]
stage = stage + 1
if stage == S {
stage = 0
phase = phase ^ 1
}
}
}
}
role consumer[t in 0..T] {
for i in 0..N * K {
wait full[i % S] i / S % 2
if t == 0 {
arrive empty[i % S]
} else {
arrive empty[i % S]
}
}
}",
    // A ring that is drained, one warp releases.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
barrier warps { arrivals: T }
role producer {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[p.index]
advance p
}
for s in 0..S {
wait empty[p.index] p.phase
advance p
}
}
role consumer[t in 0..T] {
var c = consumer(S)
for i in 0..N {
wait full[c.index] c.phase
sync warps
if t == 0 {
arrive empty[c.index]
}
advance c
}
}",
    // A pool of registers.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
pool regs = T * K + 1
barrier start { arrivals: T + 1 }
role give {
acquire regs 1
sync start
release regs 1
}
role take[t in 0..T] {
acquire regs K
sync start
if t == 0 {
acquire regs 1
}
release regs K
}",
    // Two CTAs that read one ring.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
mbarrier full[2, S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 2 }
role load {
var p = producer(S)
for i in 0..N {
wait empty[p.index] p.phase
arrive full[0, p.index]
arrive full[1, p.index]
advance p
}
}
role math[cta in 0..2] {
var c = consumer(S)
for i in 0..N {
if i < K || cta == 0 {
wait full[cta, c.index] c.phase
}
arrive empty[c.index]
advance c
}
}",
    // Warps that use one named barrier twice a round, its generations kept apart by another.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
named bar[16]
role one[t in 0..T] warp {
for i in 0..N {
arrive bar[0] 64 * T
sync bar[2] 96 * T
}
}
role two[t in 0..T] warp {
for i in 0..N {
sync bar[0] 64 * T
arrive bar[1] 64 * T
sync bar[0] 64 * T
sync bar[2] 96 * T
}
}
role three[t in 0..T] warp {
for i in 0..N {
sync bar[1] 64 * T
arrive bar[0] 64 * T
sync bar[2] 96 * T
}
}",
    // The same once, with single warps.
    "param S in 1..=3
param T in 1..
param N in 0..
param K in 0..
named bar[16]
role one warp {
arrive bar[2] 64
arrive bar[0] 64
}
role two warp {
sync bar[0] 64
sync bar[3] 64
sync bar[2] 64
}
role three warp {
sync bar[1] 64
arrive bar[3] 64
arrive bar[2] 64
}
role four warp {
sync bar[2] 64
arrive bar[1] 64
}",
];
