//! Tests that known bugs are found at the values they are known for, and that correct protocols have none.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::protocol::Protocol;
use crate::semantics::explore::explore;
use crate::semantics::samples::Program;
use crate::semantics::samples::jacobi;
use crate::semantics::samples::plain;
use crate::semantics::samples::warps;
use crate::semantics::unfold::instantiate;
use crate::text;

use super::*;

const PATIENT: Duration = Duration::from_secs(60);

static NEVER: AtomicBool = AtomicBool::new(false);

fn loaded(source: &str) -> Protocol {
    text::load(source.as_bytes()).expect("a valid protocol")
}

fn hunter(protocol: &Protocol) -> Hunter<'_> {
    Hunter::new(protocol, declared(protocol), &NEVER, &|_| {})
}

/// The least counterexample: searched in boxes first, and then at points with large values.
fn least(protocol: &Protocol) -> Option<Least> {
    let mut hunter = hunter(protocol);
    let watch = hunter.watch(PATIENT);
    let hang = match hunter.boxes(0..=3, &watch).expect("well defined") {
        Some(hang) => hang,
        None => hunter.large_values(&watch).expect("well defined")?,
    };
    let least = hunter.least(hang, &watch);
    assert!(blocked(protocol, &least.hang).is_some(), "the run is stuck");
    Some(least)
}

/// Parameters S (stages) and N (trips). `first` is the parity that the consumer waits for first.
fn ring(first: i64) -> Protocol {
    loaded(&format!(
        "protocol ring
param S in 1..
param N in 0..
mbarrier full[S] {{ arrivals: 1 }}
mbarrier empty[S] {{ arrivals: 1 }}
role producer warp {{
    for i in 0..N {{
        wait empty[i % S] (i / S) % 2 ^ 1
        arrive full[i % S]
    }}
}}
role consumer warp {{
    for i in 0..N {{
        wait full[i % S] (i / S) % 2 ^ {first}
        arrive empty[i % S]
    }}
}}"
    ))
}

/// Two warps of which only the first releases a slot. Nobody waits until the second one has looked at the slot.
const LEADER: &str = "protocol leader
param S in 1..
param I in 0..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role producer warp {
    for i in 0..I {
        wait empty[i % S] (i / S) % 2 ^ 1
        arrive full[i % S]
    }
}
role consumer[w in 0..2] warp {
    for i in 0..I {
        wait full[i % S] (i / S) % 2
        if w == 0 {
            arrive empty[i % S]
        }
    }
}";

const SINGLE_OUTPUTS: &str = "protocol outputs
param D in 1..
param T in 0..
mbarrier arrived { arrivals: 1 }
mbarrier finished[D] { arrivals: 1 }
role mma warp {
    for t in 0..T {
        wait finished[t % D] (t / D) % 2 ^ 1
        arrive arrived
    }
}
role epilogue warp {
    for t in 0..T {
        wait arrived t % 2
        arrive finished[t % D]
    }
}";

const TWENTY: &str = "protocol twenty
param T in 1..
param N in 0..
mbarrier bar { arrivals: T }
role thread[t in 0..T] {
    for i in 0..N {
        arrive bar
        wait bar if i == 19 then 0 else i % 2
    }
}";

#[test]
fn a_hard_coded_phase() {
    let found = least(&jacobi(true)).expect("a hang");
    assert_eq!(found.hang.input, plain(&[1, 2]));
    assert_eq!(
        found.smallest,
        "smallest by (T, N) among T in 1..=5, N in 0..=4; every smaller one of these was explored \
         exhaustively"
    );
    assert_eq!(least(&jacobi(false)), None);
}

#[test]
fn one_barrier_for_all_outputs() {
    let found = least(&loaded(SINGLE_OUTPUTS)).expect("a hang");
    assert_eq!(found.hang.input, plain(&[2, 2]));
    // Both buffers are filled before the epilogue looks.
    assert_eq!(found.hang.schedule.len(), 4);
}

#[test]
fn a_consumer_in_the_phase_of_the_producer() {
    let found = least(&ring(1)).expect("a hang");
    assert_eq!(found.hang.input.params[0], 1);
    assert_eq!(least(&ring(0)), None);
}

#[test]
fn a_leader_that_does_not_wait_for_its_siblings() {
    let leader = loaded(LEADER);
    let found = least(&leader).expect("a hang");
    assert_eq!(found.hang.input, plain(&[1, 2]));
    let mut hunter = hunter(&leader);
    let watch = hunter.watch(PATIENT);
    for stages in 1..6 {
        let mut at = |trips| {
            hunter
                .point(&[stages, trips], &watch)
                .expect("well defined")
        };
        assert_eq!(at(stages), None);
        assert!(at(stages + 1).is_some(), "{stages} stages");
    }
}

#[test]
fn a_hang_that_needs_twenty_iterations() {
    let found = least(&loaded(TWENTY)).expect("a hang");
    assert_eq!(found.hang.input, plain(&[1, 20]));
    assert!(
        found
            .smallest
            .ends_with("every smaller one of these was explored exhaustively"),
        "{}",
        found.smallest
    );
}

#[test]
fn many_threads_are_tried_as_well() {
    let wide = "protocol wide
        param T in 1..
        mbarrier bar { arrivals: T }
        role thread[t in 0..T] { if t < 99 { arrive bar } wait bar 0 }";
    let found = least(&loaded(wide)).expect("a hang");
    assert_eq!(found.hang.input, plain(&[100]));
}

#[test]
fn what_is_undefined_is_no_hang() {
    let protocol = loaded(
        "protocol over
        param N in 1..
        mbarrier bar { arrivals: N }
        role thread { arrive bar 2 }",
    );
    let mut hunter = hunter(&protocol);
    let watch = hunter.watch(PATIENT);
    assert_eq!(hunter.boxes(0..=3, &watch), Ok(None));
    let undefined = hunter.undefined.expect("an over-arrival");
    assert_eq!(undefined.params, [1]);
    assert_eq!(undefined.what, "thread: 2 arrivals where 1 is pending");
}

#[test]
fn a_point_without_meaning_ends_the_search() {
    let protocol = loaded(
        "protocol ill
        param N in 1..
        mbarrier bar[2] { arrivals: 1 }
        role thread { arrive bar[N - 1] }",
    );
    let mut hunter = hunter(&protocol);
    let watch = hunter.watch(PATIENT);
    let at = hunter
        .boxes(0..=3, &watch)
        .expect_err("an index out of range");
    assert_eq!(at.params, [3]);
}

#[test]
fn a_suspected_point_is_tried() {
    let watch = Watch {
        deadline: std::time::Instant::now() + PATIENT,
        cancel: &NEVER,
    };
    assert!(at(&loaded(LEADER), &[3, 4], &watch).is_some());
    assert_eq!(at(&loaded(LEADER), &[3, 3], &watch), None);
    assert_eq!(at(&loaded(LEADER), &[0, 3], &watch), None);
}

#[test]
fn nothing_is_missed_that_one_late_member_shows() {
    // Small programs of two or three warps; exhaustive search knows which of them hang.
    let (s, a) = (true, false);
    let programs: [&[Program<'_>]; 5] = [
        &[&[(s, 0, 2), (a, 1, 2)], &[(s, 1, 2), (a, 0, 2)]],
        &[
            &[(a, 0, 2)],
            &[(s, 0, 2), (s, 0, 2)],
            &[(s, 1, 2), (a, 0, 2)],
            &[(s, 1, 2)],
        ],
        &[&[(s, 0, 2)], &[(s, 0, 2)]],
        &[
            &[(a, 0, 2)],
            &[(s, 0, 2), (a, 1, 2), (s, 0, 2)],
            &[(s, 1, 2), (a, 0, 2)],
        ],
        &[&[(s, 0, 3)], &[(s, 0, 3)]],
    ];
    for program in programs {
        let instance = instantiate(&warps(program), &plain(&[])).expect("valid");
        let watch = Watch {
            deadline: std::time::Instant::now() + PATIENT,
            cancel: &NEVER,
        };
        let met = schedules::run(&instance, WORK, &watch);
        let all = explore(&instance, &explore::Options::default());
        assert_eq!(met.stuck.is_some(), all.stuck.is_some(), "{program:?}");
    }
}

#[test]
fn counterexamples_that_differ() {
    let protocol = loaded(
        "protocol two
        param N in 1..
        mbarrier a { arrivals: 1 }
        mbarrier b { arrivals: 1 }
        role left { if N % 2 == 1 { wait a 0 } else { arrive b } }
        role right { wait b 0 if N == 4 { wait b 1 } }",
    );
    let mut hunter = hunter(&protocol);
    let watch = hunter.watch(PATIENT);
    let hang = hunter.boxes(0..=3, &watch).expect("well defined");
    let hang = hang.expect("a hang");
    assert_eq!(hang.input.params, [1]);
    let found = hunter.further(&hang, 5, &|_| true, &watch);
    let limits = found.limits.expect("no more than these");
    assert!(limits.contains("for N in 1..=4 "), "{limits}");
    let further = found.hangs;
    // N = 3 hangs in the same way as N = 1, so it does not count.
    assert_eq!(further.len(), 1);
    assert_eq!(further[0].input.params, [4]);
    assert_ne!(blocked(&protocol, &further[0]), blocked(&protocol, &hang));
}

#[test]
fn open_inputs_are_gone_through() {
    let protocol = loaded(
        "protocol open
        param N in 1..
        pattern visits[N, 2]
        semaphore start = any
        mbarrier bar { arrivals: 1 }
        role first { wait start >= 0 if visits[0, 1] { arrive bar } wait start == 2 }
        role second { if visits[0, 0] { wait bar 0 } start += 1 }",
    );
    let found = least(&protocol).expect("a hang");
    assert_eq!(found.hang.input.params, [1]);
    // A hang without any entry: from this initial value, the increment skips 2.
    assert_eq!(found.hang.input.patterns[0].len(), 0);
    assert_eq!(found.hang.schedule.len(), 2);
}

#[test]
fn cancelled_and_late_hunts_end() {
    let cancelled = AtomicBool::new(true);
    let protocol = jacobi(true);
    let mut hunter = Hunter::new(&protocol, declared(&protocol), &cancelled, &|_| {});
    let watch = hunter.watch(PATIENT);
    assert_eq!(hunter.boxes(0..=3, &watch), Ok(None));
    assert_eq!(hunter.large_values(&watch), Ok(None));
}
