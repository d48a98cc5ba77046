//! The order rule: what it proves for all values, what it must not prove, and that no number of a
//! proof can be another one.

use std::path::PathBuf;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::order::artefact::Order;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(240);

fn proposal(source: &str) -> Result<Order, String> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof::search(&protocol, Layer::Order, LIMIT, None, &|_| {}) {
        Guess::Fitting(Argument::Order(order)) => Ok(order),
        Guess::Nothing { reason, .. } => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn accepted(source: &str, order: &Order) -> Result<usize, Rejection> {
    accepted_by(&Solver::BuiltIn, "deadlock", source, order)
}

fn accepted_by(
    solver: &Solver,
    property: &str,
    source: &str,
    order: &Order,
) -> Result<usize, Rejection> {
    let argument = Argument::Order(order.clone());
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), property, argument)?;
    manifest::check(&certificate, solver, LIMIT, &|_| {}).map(|c| c.obligations)
}

fn proves(source: &str) -> Order {
    let order = proposal(source).unwrap_or_else(|reason| panic!("{reason}\n{source}"));
    accepted(source, &order).unwrap_or_else(|rejection| panic!("{rejection}\n{source}"));
    order
}

/// A ring in which everything that a mistake is made in is a piece: what the producer and the
/// consumer wait for, how often they go around, and how many arrivals free a stage.
fn ring(producer: &str, consumer: &str, trips: [&str; 2], expected: &str) -> String {
    let [produced, consumed] = trips;
    format!(
        "protocol ring
        param S in 1..
        param C in 1..
        param N in 0..
        mbarrier full[S] {{ arrivals: 1 }}
        mbarrier empty[S] {{ arrivals: {expected} }}
        role producer {{
            for i in 0..{produced} {{
                wait empty[i % S] {producer}
                arrive full[i % S]
            }}
        }}
        role consumer[c in 0..C] {{
            for i in 0..{consumed} {{
                wait full[i % S] {consumer}
                arrive empty[i % S]
            }}
        }}"
    )
}

const FIRST_PASSES: &str = "(i / S + 1) % 2";
const FIRST_WAITS: &str = "i / S % 2";

#[test]
fn a_ring_with_any_number_of_stages_is_proved() {
    let source = ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C");
    let order = proves(&source);
    for property in [
        "early_completion",
        "early_pass",
        "lapped_wait",
        "over_arrival",
        "tx_mismatch",
        "uninitialized",
        "resources",
    ] {
        accepted_by(&Solver::BuiltIn, property, &source, &order).unwrap();
    }
    for property in ["race", "stale_read", "assertion"] {
        accepted_by(&Solver::BuiltIn, property, &source, &order).unwrap_err();
    }
}

#[test]
fn what_hangs_or_is_out_of_step_is_not_proved() {
    let wrong = [
        ring(FIRST_WAITS, FIRST_WAITS, ["N", "N"], "C"),
        ring(FIRST_PASSES, FIRST_PASSES, ["N", "N"], "C"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N + 1"], "C"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N + S + 1", "N"], "C"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C + 1"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "1"),
        ring("(i / S) % 1", FIRST_WAITS, ["N", "N"], "C"),
        ring("(i / (S + 1) + 1) % 2", FIRST_WAITS, ["N", "N"], "C"),
    ];
    for source in wrong {
        assert!(proposal(&source).is_err(), "{source}");
    }
}

/// Whoever finishes early is not waited for: a producer may make up to `S` arrivals more.
#[test]
fn trip_counts_may_differ_as_far_as_nobody_waits() {
    proves(&ring(FIRST_PASSES, FIRST_WAITS, ["N + S", "N"], "C"));
}

#[test]
fn an_index_by_hand_is_that_of_a_ring_of_any_size() {
    let by_hand = |reset: &str| {
        format!(
            "protocol by_hand
            param S in 1..
            param N in 0..
            mbarrier full[S] {{ arrivals: 1 }}
            mbarrier empty[S] {{ arrivals: 1 }}
            role producer {{
                var slot = 0
                var phase = 1
                for i in 0..N {{
                    wait empty[slot] phase
                    arrive full[slot]
                    slot = slot + 1
                    if slot == S {{
                        slot = {reset}
                        phase = phase ^ 1
                    }}
                }}
            }}
            role consumer {{
                for i in 0..N {{
                    wait full[i % S] i / S % 2
                    arrive empty[i % S]
                }}
            }}"
        )
    };
    proves(&by_hand("0"));
    assert!(proposal(&by_hand("1")).is_err());
}

/// Fast threads of the one CTA may stand in for slow ones of the other: no deadlock, but out of
/// step, which is more than this rule can do without.
#[test]
fn an_early_completion_is_left_to_other_rules() {
    let jacobi = |waits: &str| {
        format!(
            "protocol jacobi
            param T in 1..
            param N in 0..
            mbarrier bar[2] {{ arrivals: 2 * T }}
            role thread[cta in 0..2][t in 0..T] {{
                for i in 0..N {{
                    arrive bar[cta]
                    arrive bar[1 - cta]
                    wait bar[cta] i % 2
                    {waits}
                }}
            }}"
        )
    };
    let reason = proposal(&jacobi("")).unwrap_err();
    assert_eq!(
        reason,
        "in which phase of the barrier `arrive bar[1 - cta]` of thread[0][0] counts depends on the schedule, at \
         T = 3, N = 2"
    );
    proves(&jacobi("wait bar[1 - cta] i % 2"));
}

/// Each number of a proof matters: a multiplier, a rank, a lag, a link.
#[test]
fn an_altered_proof_is_not_accepted() {
    let source = ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C");
    let good = proves(&source);
    let mut tried = 0;
    for (name, proof) in &good.proofs {
        let mut missing = good.clone();
        missing.proofs.remove(name);
        accepted(&source, &missing).unwrap_err();
        let last = proof.0.len() - 1;
        for nth in 0..proof.0[last].sum.len() {
            let mut without = good.clone();
            let sum = &mut without.proofs.get_mut(name).unwrap().0[last].sum;
            sum.remove(nth);
            if accepted(&source, &without).is_ok() {
                // What is left may be a number below 0 as well, such as a constant fact.
                continue;
            }
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
    for nth in 0..good.lags.len() {
        let mut order = good.clone();
        order.lags[nth].rounds += 1;
        accepted(&source, &order).unwrap_err();
        order.lags.remove(nth);
        accepted(&source, &order).unwrap_err();
    }
    for nth in 0..good.chains.len() {
        let mut order = good.clone();
        order.chains.remove(nth);
        accepted(&source, &order).unwrap_err();
    }
    for class in 0..good.ranks.len() {
        let mut order = good.clone();
        order.ranks[class].sites.clear();
        accepted(&source, &order).unwrap_err();
        let mut order = good.clone();
        order.ranks[class].loops[0].0.clear();
        accepted(&source, &order).unwrap_err();
    }
    let mut order = good.clone();
    order.ranks.clear();
    accepted(&source, &order).unwrap_err();
}

/// As of a multiplication that is waited for in the next round, behind which the same number of meetings follows that a quotient says.
fn a_round_later(index: &str, parity: &str, meetings: [&str; 2]) -> String {
    let role = |name: &str, meetings: &str| {
        format!(
            "role {name} warp {{
                for i in 0..N {{
                    arrive done[i % 2]
                    wait done[{index}] {parity}
                }}
                for j in 0..{meetings} {{
                    sync bar[0] 64
                }}
            }}\n"
        )
    };
    let roles = role("lead", meetings[0]) + &role("look", meetings[1]);
    format!(
        "protocol later
        param N in 0..
        param M in 0..
        mbarrier done[2] {{ arrivals: 2 }}
        named bar[1]
        {roles}"
    )
}

#[test]
fn waits_may_be_for_the_round_before_and_loops_as_long_as_a_quotient() {
    let before = ["(i + 1) % 2", "((i + 1) / 2 + 1) % 2"];
    let third = "(M - N + 2) / 3";
    let source = a_round_later(before[0], before[1], [third, third]);
    let good = proves(&source);
    assert_eq!(good.lags[0].arrivals, 1);
    for arrivals in [-1, 0, 2, 3, i64::MAX, i64::MIN] {
        let mut order = good.clone();
        order.lags[0].arrivals = arrivals;
        accepted(&source, &order).unwrap_err();
    }
    for (index, parity, meetings) in [
        ("i % 2", before[1], [third, third]),
        (before[0], "(i + 1) / 2 % 2", [third, third]),
        (before[0], before[1], [third, "(M - N + 3) / 3"]),
        (before[0], before[1], [third, "(M - N + 2) / 2"]),
        (before[0], before[1], [third, "M"]),
    ] {
        let source = a_round_later(index, parity, meetings);
        assert!(proposal(&source).is_err(), "{source}");
        accepted(&source, &good).unwrap_err();
    }
}

/// A proof is of one protocol: its multipliers show nothing about another.
#[test]
fn a_proof_of_another_protocol_is_not_accepted() {
    let good = proves(&ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C"));
    for other in [
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N + 1"], "C"),
        ring(FIRST_PASSES, FIRST_PASSES, ["N", "N"], "C"),
        ring(FIRST_WAITS, FIRST_WAITS, ["N", "N"], "C"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C + 1"),
    ] {
        accepted(&other, &good).unwrap_err();
    }
}

/// A class without members says nothing of those beside it: the copies of `load` are compared with what `math` expects, too.
#[test]
fn bytes_are_counted_where_a_class_has_no_members() {
    let source = |more: &str| {
        format!(
            "protocol apart
            param N in 0..
            param P in 0..
            mbarrier full {{ arrivals: 1 + P }}
            role math warp {{
                for n in 0..N {{
                    wait full (n + 1) % 2
                    expect_tx full 64
                    arrive full
                }}
            }}
            role others[p in 0..P] warp {{
                for n in 0..N {{
                    wait full (n + 1) % 2
                    arrive full
                }}
            }}
            role load warp {{
                for n in 0..N + {more} {{
                    wait full (n + 1) % 2
                    async copy tile completes full 64
                }}
            }}"
        )
    };
    let order = proves(&source("0"));
    accepted_by(&Solver::BuiltIn, "tx_mismatch", &source("0"), &order).unwrap();
    let more = source("min(max(1 - P, 0), max(N - 1000, 0))");
    assert!(proposal(&more).is_err(), "{more}");
}

/// What needs no solver is right by one, too.
#[test]
fn a_solver_agrees_with_the_multipliers() {
    let source = ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C");
    let order = proves(&source);
    let protocol = text::load(source.as_bytes()).unwrap();
    let obligations = warplock::certificate::order::obligations(&protocol, &order).unwrap();
    assert_eq!(obligations.len(), order.proofs.len());
    for obligation in &obligations {
        let answer =
            warplock::certificate::discharge::discharge(obligation, &Solver::BuiltIn, LIMIT);
        assert_eq!(
            answer,
            warplock::certificate::discharge::Answer::Discharged,
            "{}",
            obligation.script()
        );
    }
}

/// No solver runs: a program that cannot be one is never asked for the built-in check, and is asked
/// where it is named.
#[test]
fn the_check_asks_no_solver_unless_one_is_named() {
    let source = ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C");
    let order = proves(&source);
    let nowhere = Solver::Program(PathBuf::from("/nonexistent/solver"));
    accepted_by(&nowhere, "deadlock", &source, &order).unwrap_err();
    accepted(&source, &order).unwrap();
}

/// A ring that one warp fills between barriers, as compilers write pipelines: all warps meet so often in each round.
fn stages(meetings: usize, ahead: &str) -> String {
    let meet = "sync bar[0] 64\n".repeat(meetings);
    format!(
        "protocol stages
        param P in 0..=1000
        mbarrier full[3] {{ arrivals: 1 }}
        named bar[1]
        role first warp {{
            {meet}
            if 0 < P {{ arrive full[0] }}
            {meet}
            if 1 < P {{ arrive full[1] }}
            for i in 0..P {{
                wait full[i % 3] i / 3 % 2
                {meet}
                if i + 2 < P {{ arrive full[(i + {ahead}) % 3] }}
            }}
        }}
        role second warp {{
            {meet}
            {meet}
            for i in 0..P {{
                wait full[i % 3] i / 3 % 2
                {meet}
            }}
        }}"
    )
}

/// Which meeting of a round was for which is known by the number of meetings in it, and makes no case of each pair.
#[test]
fn warps_that_meet_often_in_each_round_are_proved() {
    let obligations = |meetings| {
        let source = stages(meetings, "2");
        let order = proves(&source);
        accepted(&source, &order).unwrap()
    };
    let (few, many) = (obligations(2), obligations(6));
    assert!(many < 4 * few, "{few} {many}");
    // The stage after the next is the wrong one.
    assert!(proposal(&stages(3, "1")).is_err());
    // Without a meeting a stage is filled before everybody has read it.
    assert!(proposal(&stages(0, "2")).is_err());
}

/// A ring of two that is used so often in each round, with the elements and parities that are given.
fn uses(extent: &str, first: &str, loops: &str) -> String {
    format!(
        "protocol uses param N in 1..
         mbarrier full[{extent}] {{ arrivals: 1 }} mbarrier empty[{extent}] {{ arrivals: 1 }}
         role load {{ {first} {loops} }}
         role math {{ for i in 0..6 * N {{ wait full[i % 6] i / 6 % 2 arrive empty[i % 6] }} }}"
    )
}

/// Elements that are found by other ways than the number of the use modulo the size.
#[test]
fn spellings_of_an_element_are_one() {
    let odd = |second: &str, parity: &str| {
        format!(
            "protocol odd param N in 0..
             mbarrier g[2] {{ arrivals: 2 }} mbarrier f[3] {{ arrivals: 1 }}
             role a[w in 0..2] warp {{ for i in 0..N {{
                 arrive g[i % 2] wait g[i % 2] 3 * i / 2 % 2
                 arrive g[{second}] wait g[{second}] {parity}
                 arrive g[i % 2] wait g[i % 2] (3 * i / 2 + 1) % 2 }} }}"
        )
    };
    proves(&odd("(i + 1) % 2", "(3 * i + 1) / 2 % 2"));
    for (second, parity) in [
        ("i % 2", "(3 * i + 1) / 2 % 2"),
        ("(i + 1) % 2", "3 * i / 2 % 2"),
        ("(i + 1) % 2", "((3 * i + 1) / 2 + 1) % 2"),
    ] {
        assert!(proposal(&odd(second, parity)).is_err(), "{second} {parity}");
    }
    let pairs = |one: &str, other: &str, parity: &str| {
        let used =
            |index: &str| format!("wait empty[{index}] ({parity} + 1) % 2 arrive full[{index}] ");
        uses(
            "6",
            "",
            &format!("for i in 0..3 * N {{ {}{} }}", used(one), used(other)),
        )
    };
    let (one, other) = ("2 * (i % 3)", "1 + (i % 3) * 2");
    proves(&pairs(one, other, "i / 3"));
    for (one, other, parity) in [
        (other, one, "i / 3"),
        (one, "2 * (i % 3) + 2", "i / 3"),
        (one, "3 * (i % 2) + 1", "i / 3"),
        (one, "(i % 3) + 1", "i / 3"),
        (one, other, "i / 2"),
        (one, other, "(i / 3 + 1)"),
        (one, other, "i / 6"),
    ] {
        assert!(
            proposal(&pairs(one, other, parity)).is_err(),
            "{one} {other} {parity}"
        );
    }
    // The first round is written in front of the loop, also as a loop over elements.
    let written = |bound: &str, parity: &str| {
        let rest = "for i in 0..6 * N - 6 { wait empty[i % 6] i / 6 % 2 arrive full[i % 6] }";
        let first = format!("for e in 0..{bound} {{ wait empty[e] {parity} arrive full[e] }}");
        uses(
            "6",
            &format!("{first} for e in 3..6 {{ wait empty[e] 1 arrive full[e] }}"),
            rest,
        )
    };
    proves(&written("3", "1"));
    assert!(proposal(&written("2", "1")).is_err());
    assert!(proposal(&written("3", "0")).is_err());
}

/// Trip counts that may be as large as those of a launch, whose products do not fit in the numbers of a search.
#[test]
fn large_bounds_do_not_cost_the_proof() {
    let nested = |parity: &str| {
        format!(
            "protocol nested param tiles in 0..=1073741823 param rounds in 0..=1073741823
             mbarrier full[3] {{ arrivals: 1 }} mbarrier empty[3] {{ arrivals: 1 }}
             role load {{ var k = 0 for t in 0..tiles {{ for r in 0..rounds {{
                 wait empty[k % 3] {parity} arrive full[k % 3] k = k + 1 }} }} }}
             role math {{ var k = 0 for t in 0..tiles {{ for r in 0..rounds {{
                 wait full[k % 3] k / 3 % 2 arrive empty[k % 3] k = k + 1 }} }} }}"
        )
    };
    proves(&nested("(k / 3 + 1) % 2"));
    assert!(proposal(&nested("k / 3 % 2")).is_err());
}

/// Two groups of warps take turns in two loops that go on with one ring. With the bounds of all parameters, numbers in the search for
/// ranks do not fit.
#[test]
fn ranks_are_found_without_large_bounds() {
    let round = |k: &str, next: &str, parity: &str, [own, other]: [usize; 2]| {
        let (first, second) = (2 * own, 2 * own + 1);
        format!(
            "wait k_full[({k} + 1) % 2] ({k} + 1) / 2 % 2 sync turn[{own}] 256 arrive mul_{second}
             wait v_full[({k}) % 2] {parity} arrive mul_{first} arrive turn[{other}] 256
             wait mul_{second} ({k}) % 2 arrive k_empty[({k} + 1) % 2] wait mul_{first} ({next}) % 2
             arrive v_empty[({k}) % 2]"
        )
    };
    let group = |role: &str, begin: &str, turns: [usize; 2], last: &str, parity: &str| {
        let (first, second) = (2 * turns[0], 2 * turns[0] + 1);
        format!(
            "role {role} warp {{ {begin} if tiles > tile {{
             wait q_full 0 wait k_full[0] 0 arrive mul_{first} wait mul_{first} 0 arrive k_empty[0]
             for i in 0..rest {{ {} }} for j in 0..part {{ {} }}
             arrive q_empty wait v_full[(rest + part) % 2] (rest + part) / 2 % 2
             arrive mul_{second} wait mul_{second} (rest + part) % 2 arrive v_empty[(rest + part) % 2]
             sync turn[3] 256 arrive turn[3] 288 {last} }} }}",
            round("i", "i + 1", "i / 2 % 2", turns),
            round("rest + j", "rest + j + 1", parity, turns),
        )
    };
    let warps = |parity: &str| {
        format!(
            "protocol turns param rest in 0..=1073741823 param part in 0..=16777215
             param tile in 0..=1073741823 param tiles in 0..=1073741823
             mbarrier q_full {{ arrivals: 1 }} mbarrier q_empty {{ arrivals: 8 }}
             mbarrier k_full[2] {{ arrivals: 1 }} mbarrier k_empty[2] {{ arrivals: 8 }}
             mbarrier v_full[2] {{ arrivals: 1 }} mbarrier v_empty[2] {{ arrivals: 8 }}
             mbarrier mul_0 {{ arrivals: 4 }} mbarrier mul_1 {{ arrivals: 4 }}
             mbarrier mul_2 {{ arrivals: 4 }} mbarrier mul_3 {{ arrivals: 4 }} named turn[4]
             role load warp {{ if tiles > tile {{
             wait k_empty[0] 1 arrive k_full[0] wait q_empty 1 arrive q_full
             for i in 0..rest + part {{
             wait k_empty[(i + 1) % 2] ((i + 1) / 2 + 1) % 2 arrive k_full[(i + 1) % 2]
             wait v_empty[i % 2] (i / 2 + 1) % 2 arrive v_full[i % 2] }}
             wait v_empty[(rest + part) % 2] ((rest + part) / 2 + 1) % 2 arrive v_full[(rest + part) % 2] }} }}
             {} {} {}",
            group("one", "arrive turn[0] 256", [0, 1], "sync turn[3] 288", parity),
            group("others_of_one[w in 0..3]", "arrive turn[0] 256", [0, 1], "", parity),
            group("two[w in 0..4]", "", [1, 0], "", parity),
        )
    };
    proves(&warps("(rest + j) / 2 % 2"));
    assert!(proposal(&warps("j / 2 % 2")).is_err());
}
