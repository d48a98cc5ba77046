//! Tests of the rules for transactions, asynchronous work, split-phase barriers, pools and initialisation, one rule
//! at a time. Some compare state counts with those of another program.

use crate::text;

use super::explore::Explored;
use super::explore::Options;
use super::explore::explore;
use super::greedy::run_greedy;
use super::input::Input;
use super::instance::Instance;
use super::simulate::RunEnd;
use super::step;
use super::step::Action;
use super::step::CellState;
use super::step::Delivery;
use super::step::State;
use super::step::StepError;
use super::step::ViolationKind;
use super::unfold::instantiate;

fn instance(source: &str, params: &[i64]) -> Instance {
    let protocol = match text::load(source.as_bytes()) {
        Ok(protocol) => protocol,
        Err(found) => panic!("{}", text::render(&found, "p.wlk", source, false)),
    };
    let input = Input {
        params: params.to_vec(),
        patterns: vec![Default::default(); protocol.patterns.len()],
        ..Input::default()
    };
    instantiate(&protocol, &input).expect("a valid input")
}

/// A protocol with this declaration and one role per body.
fn protocol(declarations: &str, bodies: &[&str]) -> Instance {
    let roles = bodies.iter().enumerate();
    let roles: String = roles
        .map(|(i, b)| format!("role w{i} {{ {b} }} "))
        .collect();
    instance(&format!("protocol p {declarations} {roles}"), &[])
}

/// The state after these actions, or why the last of them cannot happen.
fn run(instance: &Instance, actions: &[Action]) -> Result<State, StepError> {
    let mut state = step::initial(instance);
    let (last, earlier) = actions.split_last().expect("an action");
    for action in earlier {
        step::apply(instance, &mut state, *action).expect("enabled");
    }
    let before = state.clone();
    let result = step::apply(instance, &mut state, *last);
    if result.is_err() {
        assert_eq!(state, before, "an error changes nothing");
    }
    result.map(|()| state)
}

/// The state of the first cell after the only member has run this body.
fn alone(declarations: &str, body: &str) -> CellState {
    let instance = protocol(declarations, &[body]);
    let steps = vec![Action::Step(0); instance.op_count()];
    run(&instance, &steps).expect("enabled").cells[0].clone()
}

fn violation(instance: &Instance, actions: &[Action]) -> ViolationKind {
    match run(instance, actions) {
        Err(StepError::Violation(violation)) => violation.kind,
        other => panic!("{other:?}"),
    }
}

fn mbarrier(pending: i64, phase: bool, tx: i64) -> CellState {
    CellState::Mbarrier { pending, phase, tx }
}

const ONE: &str = "mbarrier b { arrivals: 1 }";
const TWO: &str = "mbarrier b { arrivals: 2 }";

#[test]
fn a_phase_completes_when_neither_arrivals_nor_bytes_are_missing() {
    assert_eq!(alone(ONE, "expect_tx b 8"), mbarrier(1, false, 8));
    assert_eq!(alone(ONE, "expect_tx b 8 arrive b"), mbarrier(0, false, 8));
    assert_eq!(alone(ONE, "arrive_expect_tx b 8"), mbarrier(0, false, 8));
    let most = "arrive_expect_tx b 8 complete_tx b 5";
    assert_eq!(alone(ONE, most), mbarrier(0, false, 3));
    let all = "arrive_expect_tx b 8 complete_tx b 5 complete_tx b 3";
    assert_eq!(alone(ONE, all), mbarrier(1, true, 0));
    // Bytes that are delivered before they are expected do no harm within the same phase.
    assert_eq!(alone(ONE, "complete_tx b 8"), mbarrier(1, false, -8));
    let early = "complete_tx b 8 arrive_expect_tx b 8";
    assert_eq!(alone(ONE, early), mbarrier(1, true, 0));
    // The last arrival completes the phase when the bytes are there.
    let last = "arrive_expect_tx b 8 complete_tx b 8 arrive b";
    assert_eq!(alone(TWO, last), mbarrier(2, true, 0));
    // An expectation may be the last thing missing.
    let expected = "complete_tx b 8 arrive b expect_tx b 8";
    assert_eq!(alone(ONE, expected), mbarrier(1, true, 0));
    assert_eq!(
        alone(ONE, "complete_tx b 8 arrive b"),
        mbarrier(0, false, -8)
    );
    assert_eq!(
        alone(ONE, "expect_tx b 0 complete_tx b 0"),
        mbarrier(1, false, 0)
    );
}

#[test]
fn bytes_too_many_count_in_the_next_phase() {
    let more = "arrive_expect_tx b 8 complete_tx b 12";
    assert_eq!(alone(ONE, more), mbarrier(1, true, -4));
    let next = "arrive_expect_tx b 8 complete_tx b 12 arrive_expect_tx b 4";
    assert_eq!(alone(ONE, next), mbarrier(1, false, 0));
    // While arrivals are pending they count in this one.
    assert_eq!(
        alone(ONE, "expect_tx b 8 complete_tx b 12"),
        mbarrier(1, false, -4)
    );
}

#[test]
fn an_arrival_while_only_bytes_are_missing_is_one_too_many() {
    let over = protocol(ONE, &["arrive_expect_tx b 8 arrive b"]);
    let expected = ViolationKind::OverArrival {
        count: 1,
        pending: 0,
    };
    assert_eq!(violation(&over, &[Action::Step(0); 3]), expected);
    // A commit that lands is an arrival.
    let over = protocol(ONE, &["arrive_expect_tx b 8 commit b"]);
    let steps = [
        Action::Step(0),
        Action::Step(0),
        Action::Step(0),
        Action::Land(0, 0),
    ];
    assert_eq!(violation(&over, &steps), expected);
}

#[test]
fn a_byte_count_that_leaves_64_bits_is_undefined() {
    let huge = "expect_tx b 9223372036854775807 expect_tx b 1";
    let huge = protocol(ONE, &[huge]);
    assert_eq!(
        violation(&huge, &[Action::Step(0); 2]),
        ViolationKind::TxOverflow
    );
}

#[test]
fn what_is_in_flight_lands_later_and_a_commit_behind_what_came_before() {
    let two = "mbarrier a { arrivals: 1 } mbarrier b { arrivals: 1 }";
    let body = "async copy t completes b 8 async copy t completes a 4 commit a \
                async copy t completes a 2 commit b";
    let instance = protocol(two, &[body]);
    let state = run(&instance, &[Action::Step(0); 5]).expect("enabled");
    assert!(
        step::is_finished(&instance, &state),
        "nothing holds the member"
    );
    assert!(!step::is_stuck(&instance, &state));
    let deliveries = |state: &State| -> Vec<(u32, Delivery)> {
        let all = state.in_flight.iter();
        all.map(|f| (f.cell.0, f.delivery)).collect()
    };
    use Delivery::Arrival;
    use Delivery::Bytes;
    let all = [
        (0, Bytes(4)),
        (1, Bytes(8)),
        (0, Arrival),
        (0, Bytes(2)),
        (1, Arrival),
    ];
    assert_eq!(deliveries(&state), all);
    let lands = |positions: &[usize]| -> Vec<Action> {
        positions.iter().map(|p| Action::Land(0, *p)).collect()
    };
    assert_eq!(step::enabled(&instance, &state), lands(&[0, 1, 3]));
    for commit in [2, 4, 5] {
        let action = Action::Land(0, commit);
        let refused = step::apply(&instance, &mut state.clone(), action);
        assert_eq!(refused, Err(StepError::NotEnabled(action)));
    }
    let mut state = state;
    for (position, left) in [(3, [0, 1].as_slice()), (1, &[0]), (0, &[0]), (0, &[0])] {
        step::apply(&instance, &mut state, Action::Land(0, position)).expect("enabled");
        assert_eq!(step::enabled(&instance, &state), lands(left));
    }
    assert_eq!(deliveries(&state), [(1, Arrival)]);
    assert_eq!(state.cells[0], mbarrier(0, false, -6));
}

#[test]
fn landings_that_do_the_same_are_listed_once() {
    let twice = protocol(ONE, &["repeat 3 { async copy t completes b 8 }"]);
    let state = run(&twice, &[Action::Step(0); 3]).expect("enabled");
    assert_eq!(step::enabled(&twice, &state), [Action::Land(0, 0)]);
}

#[test]
fn before_its_initialisation_everything_on_an_mbarrier_is_lost() {
    let late = "mbarrier b { arrivals: 1, init: explicit }";
    assert_eq!(
        alone(late, "arrive b expect_tx b 8 complete_tx b 4 init b"),
        mbarrier(1, false, 0)
    );
    assert_eq!(alone(late, "arrive b"), CellState::Uninitialized);
    let commit = protocol(late, &["commit b init b"]);
    let lost = run(
        &commit,
        &[Action::Step(0), Action::Land(0, 0), Action::Step(0)],
    );
    assert_eq!(lost.expect("enabled").cells[0], mbarrier(1, false, 0));
    let kept = run(
        &commit,
        &[Action::Step(0), Action::Step(0), Action::Land(0, 0)],
    );
    assert_eq!(kept.expect("enabled").cells[0], mbarrier(1, true, 0));
    // Not even the parity that passes on a fresh barrier passes.
    let wait = protocol(late, &["wait b 1", "init b"]);
    assert_eq!(
        step::enabled(&wait, &step::initial(&wait)),
        [Action::Step(1)]
    );
    let again = protocol(late, &["init b init b"]);
    assert_eq!(
        violation(&again, &[Action::Step(0); 2]),
        ViolationKind::Reinitialized
    );
}

#[test]
fn a_split_phase_barrier_lets_pass_who_arrived_in_a_completed_generation() {
    let declarations = "barrier b { arrivals: 2 }";
    let both = protocol(declarations, &["sync b arrive b", "arrive b wait b"]);
    let (a, b) = (Action::Step(0), Action::Step(1));
    assert_eq!(run(&both, &[a, a]), Err(StepError::NotEnabled(a)));
    let state = run(&both, &[a, b, a, a]).expect("enabled");
    let expected = CellState::Barrier {
        pending: 1,
        arrived: vec![0],
        released: vec![1],
    };
    assert_eq!(state.cells[0], expected);
    // The second generation is open; the wait is for the first.
    assert!(step::can_step(&both, &state, 1));
    let unasked = protocol(declarations, &["wait b"]);
    assert_eq!(violation(&unasked, &[a]), ViolationKind::WaitWithoutArrival);
    let twice = protocol(declarations, &["arrive b arrive b", "arrive b"]);
    assert_eq!(violation(&twice, &[a, a]), ViolationKind::ArrivedTwice);
    assert_eq!(violation(&twice, &[a, b, a]), ViolationKind::ArrivedTwice);
}

#[test]
fn a_pool_gives_what_it_has_and_takes_no_more_than_it_gave() {
    let declarations = "pool p = 40";
    let two = protocol(declarations, &["acquire p 24 release p 24", "acquire p 24"]);
    let (a, b) = (Action::Step(0), Action::Step(1));
    assert_eq!(run(&two, &[a, b]), Err(StepError::NotEnabled(b)));
    let state = run(&two, &[a, a, b]).expect("enabled");
    assert_eq!(state.cells[0], CellState::Pool { available: 16 });
    let over = protocol(declarations, &["acquire p 8 release p 9"]);
    let expected = ViolationKind::OverRelease {
        amount: 9,
        taken: 8,
    };
    assert_eq!(violation(&over, &[a, a]), expected);
}

fn count(instance: &Instance) -> (u64, u64) {
    let options = Options {
        symmetry: false,
        stop_at_stuck: false,
        ..Options::default()
    };
    let all = explore(instance, &options);
    check_reduced(instance, &all);
    (all.states, all.stuck_states)
}

/// Checks that the search with symmetry reduction and a greedy run agree with the search without.
fn check_reduced(instance: &Instance, all: &Explored) {
    let options = Options {
        stop_at_stuck: false,
        ..Options::default()
    };
    let reduced = explore(instance, &options);
    let length = |found: &Explored| found.stuck.as_ref().map(Vec::len);
    assert_eq!(length(&reduced), length(all));
    assert!(reduced.states <= all.states);
    assert_eq!(reduced.violation.is_some(), all.violation.is_some());
    let end = run_greedy(instance, None).end;
    match (all.stuck_states, &all.violation) {
        (0, None) => assert_eq!(end, RunEnd::Finished),
        _ => assert!(matches!(
            end,
            RunEnd::Finished | RunEnd::Stuck | RunEnd::Violation(_)
        )),
    }
}

const GEMM: &str = "protocol gemm
    param S in 1..=8 param T in 1.. param TILES in 0.. param K in 1..
    mbarrier full[S] { arrivals: 1 }
    mbarrier empty[S] { arrivals: 1 }
    mbarrier acc_full { arrivals: 1 }
    mbarrier acc_empty { arrivals: T }
    buffer smem[S]
    role load {
        var p = producer(S)
        repeat TILES * K {
            wait empty[p.index] p.phase
            arrive_expect_tx full[p.index] 64
            async copy smem[p.index] completes full[p.index] 64
            advance p
        }
    }
    role mma {
        var c = consumer(S)
        var a = producer(1)
        for tile in 0..TILES {
            wait acc_empty a.phase
            repeat K {
                wait full[c.index] c.phase
                async mma reads smem[c.index] writes tmem
                commit empty[c.index]
                advance c
            }
            commit acc_full
            advance a
        }
    }
    role write_back[t in 0..T] {
        var c = consumer(1)
        repeat TILES {
            wait acc_full c.phase
            read tmem
            arrive acc_empty
            advance c
        }
    }";

#[test]
fn pipeline_counts() {
    for (params, states) in [
        ([1, 1, 1, 1], 20),
        ([2, 2, 1, 3], 97),
        ([2, 1, 2, 2], 206),
        ([1, 1, 2, 2], 75),
    ] {
        assert_eq!(count(&instance(GEMM, &params)), (states, 0), "{params:?}");
    }
}

#[test]
fn a_wrong_first_phase_hangs_a_pipeline() {
    let wrong = GEMM.replace("var p = producer(S)", "var p = consumer(S)");
    let found = explore(&instance(&wrong, &[2, 1, 1, 2]), &Options::default());
    assert!(found.stuck.is_some());
}

#[test]
fn split_phase_and_initialisation_counts() {
    let early = |sync: &str| {
        let source = format!(
            "protocol early param T in 1..
             barrier cta {{ arrivals: T }}
             mbarrier done {{ arrivals: T, init: explicit }}
             role thread[t in 0..T] {{ elect {{ init done }} {sync} arrive done wait done 0 }}"
        );
        count(&instance(&source, &[3]))
    };
    assert_eq!(early("sync cta"), (45, 0));
    assert_eq!(early(""), (27, 2));
    let rounds = "protocol rounds param N in 1.. param M in 1.. barrier b { arrivals: M }
                  role w[i in 0..N] { repeat 2 { sync b } }";
    for (members, states) in [(1, 5), (2, 15), (3, 41), (4, 111)] {
        assert_eq!(count(&instance(rounds, &[members, members])), (states, 0));
    }
    assert_eq!(count(&instance(rounds, &[2, 3])), (4, 1));
}

#[test]
fn pool_counts() {
    let source = "protocol pools param W in 1.. param C in 0.. pool r = C
                  role w[i in 0..W] { acquire r 24 release r 24 acquire r 40 release r 40 }";
    for (members, capacity, states) in [(2, 40, 21), (3, 120, 125), (3, 60, 90), (2, 64, 24)] {
        assert_eq!(count(&instance(source, &[members, capacity])), (states, 0));
    }
    assert!(count(&instance(source, &[2, 39])).1 > 0);
}

#[test]
fn flight_counts() {
    let two = "mbarrier a { arrivals: 1 } mbarrier b { arrivals: 1 }";
    let member = "async copy t completes a 8 async copy t completes b 8 commit a \
                  async copy t completes a 4";
    assert_eq!(
        count(&protocol(two, &[member, "expect_tx a 8 wait a 0"])),
        (48, 1)
    );
    let same = "repeat 2 { async copy t completes b 8 } commit b";
    assert_eq!(count(&protocol(ONE, &[same])), (10, 0));
}
