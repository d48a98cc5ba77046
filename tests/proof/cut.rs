//! The cut rule: what it proves for all values, what it must not prove, and that a proof is only
//! accepted for the protocol it was found for.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

/// What the search proposes, or why nothing.
fn proposal(source: &str) -> Result<Argument, String> {
    proposal_by(Layer::Cuts(Shows::Nothing), source)
}

pub(super) fn proposal_by(layer: Layer, source: &str) -> Result<Argument, String> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    match proof::search(&protocol, layer, LIMIT, None, &|_| {}) {
        Guess::Found(argument) | Guess::Fitting(argument) => Ok(argument),
        Guess::Nothing { reason, .. } => Err(reason),
    }
}

pub(super) fn accepted(source: &str, argument: Argument) -> Result<usize, Rejection> {
    accepted_for("deadlock", source, argument)
}

fn accepted_for(property: &str, source: &str, argument: Argument) -> Result<usize, Rejection> {
    let narrowing = Narrowing::default();
    let (certificate, _) = manifest::issue(source, &narrowing, property, argument)?;
    let each = Duration::from_secs(120);
    manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {}).map(|c| c.obligations)
}

/// The same with so much time for each obligation.
fn accepted_within(each: Duration, source: &str, argument: Argument) -> Result<usize, Rejection> {
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), "deadlock", argument)?;
    manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {}).map(|c| c.obligations)
}

fn proves(source: &str) {
    let argument = proposal(source).unwrap_or_else(|reason| panic!("{reason}\n{source}"));
    accepted(source, argument).unwrap_or_else(|rejection| panic!("{rejection}\n{source}"));
}

/// Nothing is proposed, or the checker refuses it.
fn does_not_prove(source: &str) {
    if let Ok(argument) = proposal(source)
        && let Ok(obligations) = accepted(source, argument)
    {
        panic!("proved with {obligations} obligations\n{source}");
    }
}

/// A ring with the pieces a mistake is made in: the producer's parity, the consumer's, the trips of
/// each, the arrivals that `empty` expects, and the stages.
fn ring(producer: &str, consumer: &str, trips: [&str; 2], expected: &str, stages: &str) -> String {
    let [produced, consumed] = trips;
    format!(
        "protocol ring
        param S in {stages}
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

/// With `W` beyond 2^127 the numbers `W` and `W + D` differ all the same. At `N = 99`, `M = 70` and one
/// above the least of all others, 1 is there and 2 are waited for.
#[test]
fn large_numbers_do_not_cancel() {
    let least = 1_i64 << 43;
    let once = "max(0, 1 - (N * N - 2 * M * M - 1) * (N * N - 2 * M * M - 1))";
    let large = format!("(P - {least}) * (Q - {least}) * (R - {least}) * (T - {least}) * {once}");
    let source = |wanted: &str| {
        format!(
            "protocol p param P in {least}.. param Q in {least}.. param R in {least}..
            param T in {least}.. param N in 18.. param M in 13..
            semaphore s = {large} mbarrier b {{ arrivals: 1 }}
            role a {{ wait s >= {large} {wanted} arrive b }}
            role c {{ wait b 0 }}"
        )
    };
    let each = Duration::from_secs(1);
    for (wanted, holds) in [(String::new(), true), (format!("+ {once}"), false)] {
        let source = source(&wanted);
        let argument = proposal(&source).unwrap();
        assert_eq!(
            accepted_within(each, &source, argument).is_ok(),
            holds,
            "{wanted}"
        );
    }
}

#[test]
fn a_ring_is_proved_for_listed_and_for_all_stage_counts() {
    for stages in ["1..=6", "1.."] {
        proves(&ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C", stages));
    }
}

#[test]
fn a_ring_with_one_mistake_is_not_proved() {
    let trips = ["N", "N"];
    for broken in [
        ring(FIRST_WAITS, FIRST_WAITS, trips, "C", "1..=3"),
        ring(FIRST_PASSES, FIRST_PASSES, trips, "C", "1..=3"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N", "N + 1"], "C", "1..=3"),
        ring(FIRST_PASSES, FIRST_WAITS, trips, "C + 1", "1..=3"),
        ring(FIRST_PASSES, FIRST_WAITS, ["N + S + 1", "N"], "C", "1..=3"),
        ring(FIRST_PASSES, "(i % 2)", trips, "C", "2..=3"),
    ] {
        does_not_prove(&broken);
    }
}

#[test]
fn unequal_trips_are_proved_as_far_as_they_are_harmless() {
    // The producer may run ahead by as many rounds as there are stages.
    proves(&ring(
        FIRST_PASSES,
        FIRST_WAITS,
        ["N + S", "N"],
        "C",
        "1..=3",
    ));
}

fn jacobi(parity: &str) -> String {
    format!(
        "protocol jacobi
        param T in 1..
        param N in 0..
        mbarrier bar[2] {{ arrivals: 2 * T }}
        role thread[cta in 0..2][t in 0..T] {{
            var phase = 0
            for i in 0..N {{
                arrive bar[cta]
                arrive bar[1 - cta]
                wait bar[cta] {parity}
                phase = phase ^ 1
            }}
        }}"
    )
}

#[test]
fn two_ctas_that_exchange_halos_are_proved_unless_the_phase_is_fixed() {
    proves(&jacobi("phase"));
    does_not_prove(&jacobi("0"));
    does_not_prove(&jacobi("1"));
}

#[test]
fn a_proof_of_one_protocol_is_not_one_of_another() {
    let argument = proposal(&jacobi("phase")).unwrap();
    let other = jacobi("phase").replace("arrive bar[1 - cta]", "arrive bar[cta]");
    accepted(&other, argument.clone()).unwrap_err();
    let stuck = jacobi("phase").replace("arrivals: 2 * T", "arrivals: 2 * T + 1");
    accepted(&stuck, argument).unwrap_err();
}

/// A guess that says more than is true must not get through the checker.
#[test]
fn an_altered_proof_is_not_accepted() {
    let source = ring(FIRST_PASSES, FIRST_WAITS, ["N", "N"], "C", "2..=2");
    let Argument::Cut(good) = proposal(&source).unwrap() else {
        panic!("not a cut");
    };
    accepted(&source, Argument::Cut(good.clone())).unwrap();
    let mut tried = 0;
    for hold in 0..good.cases[0].holds.len() {
        for stop in 0..good.cases[0].holds[hold].stops.len() {
            // One iteration earlier than anybody can be stopped.
            let mut cut = good.clone();
            let stops = &mut cut.cases[0].holds[hold].stops[stop];
            let Some(product) = stops.first_mut().and_then(|s| s.clock.0.first_mut()) else {
                continue;
            };
            if product.of.is_empty() {
                product.times -= 1;
            } else {
                product.times = 0;
            }
            accepted(&source, Argument::Cut(cut)).unwrap_err();
            tried += 1;
        }
    }
    let mut cut = good.clone();
    cut.cases[0].generations[0].first += 1;
    accepted(&source, Argument::Cut(cut)).unwrap_err();
    let mut cut = good.clone();
    cut.cases[0].holds.pop();
    accepted(&source, Argument::Cut(cut)).unwrap_err();
    let mut cut = good.clone();
    cut.cases[0].empty = true;
    accepted(&source, Argument::Cut(cut)).unwrap_err();
    let mut cut = good;
    cut.cases.clear();
    accepted(&source, Argument::Cut(cut)).unwrap_err();
    assert!(tried >= 2, "{tried}");
}

#[test]
fn hand_rolled_stages_and_phases_have_closed_forms() {
    let by = |step: &str| {
        format!(
            "protocol rolled
            param S in 1..=4
            param T in 0..
            param K in 0..
            mbarrier full[S] {{ arrivals: 1 }}
            mbarrier empty[S] {{ arrivals: 1 }}
            role producer {{
                var stage = 0
                var phase = 1
                for tile in 0..T {{ for k in 0..K {{
                    wait empty[stage] phase
                    arrive full[stage]
                    {step}
                }} }}
            }}
            role consumer {{
                var stage = 0
                var phase = 0
                for tile in 0..T {{ for k in 0..K {{
                    wait full[stage] phase
                    arrive empty[stage]
                    {step}
                }} }}
            }}"
        )
    };
    proves(&by(
        "stage = stage + 1 if stage == S { stage = 0 phase = phase ^ 1 }",
    ));
    proves(&by(
        "if stage == S - 1 { phase = 1 - phase } stage = (stage + 1) % S",
    ));
    does_not_prove(&by("stage = stage + 1 if stage == S { stage = 0 }"));
    does_not_prove(&by(
        "if stage == S - 1 { phase = 1 - phase } stage = (stage + 1) % (S + 1)",
    ));
}

#[test]
fn named_barriers_with_any_number_of_warps() {
    let pair = |first: &str| {
        format!(
            "protocol pair
            param W in 1..
            param N in 0..
            named bar[16]
            role producer warp {{
                for i in 0..N {{ sync bar[0] 32 * (W + 1) arrive bar[1] 32 * (W + 1) }}
            }}
            role consumer[w in 0..W] warp {{
                for i in 0..N {{ {first} bar[0] 32 * (W + 1) sync bar[1] 32 * (W + 1) }}
            }}"
        )
    };
    proves(&pair("arrive"));
    proves(&pair("sync"));
    does_not_prove(&pair("arrive").replace("sync bar[1]", "arrive bar[1]"));
}

#[test]
fn pools_are_decided_exactly() {
    let pool = |assumption: &str| {
        format!(
            "protocol registers
            param ND in 1..
            param NI in 1..
            param R0 in 1..
            param D in 0..
            param C in 1..
            assume D <= R0 && R0 <= C
            assume {assumption}
            pool regs = (ND + NI) * R0
            barrier start {{ arrivals: ND + NI }}
            role lesser[w in 0..ND] {{
                acquire regs R0
                sync start
                release regs R0 - D
            }}
            role greater[w in 0..NI] {{
                acquire regs R0
                sync start
                acquire regs C - R0
            }}"
        )
    };
    proves(&pool("ND * (R0 - D) >= NI * (C - R0)"));
    does_not_prove(&pool("ND * (R0 - D) >= NI * (C - R0) - 1"));
}

#[test]
fn transactions_need_the_bytes_that_are_expected() {
    let bytes = |expected: &str| {
        format!(
            "protocol bytes
            param S in 1..=3
            param N in 0..
            param B in 1..
            mbarrier full[S] {{ arrivals: 1 }}
            mbarrier empty[S] {{ arrivals: 1 }}
            role load {{
                var p = producer(S)
                for i in 0..N {{
                    wait empty[p.index] p.phase
                    arrive_expect_tx full[p.index] {expected}
                    async copy a completes full[p.index] B
                    async copy b completes full[p.index] B
                    advance p
                }}
            }}
            role mma {{
                var c = consumer(S)
                for i in 0..N {{
                    wait full[c.index] c.phase
                    commit empty[c.index]
                    advance c
                }}
            }}"
        )
    };
    proves(&bytes("2 * B"));
    does_not_prove(&bytes("B"));
    does_not_prove(&bytes("2 * B + 1"));
}

/// Jacobi is free of deadlock but not well synchronized; waiting for both barriers repairs that.
#[test]
fn early_completion_takes_a_consistent_cut() {
    let plain = proposal(&jacobi("phase")).unwrap();
    accepted_for("early_pass", &jacobi("phase"), plain.clone()).unwrap();
    accepted_for("lapped_wait", &jacobi("phase"), plain.clone()).unwrap();
    let refused = accepted_for("early_completion", &jacobi("phase"), plain.clone()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "this argument by the cut rule does not prove `early_completion`"
    );
    for property in ["race", "stale_read", "tx_mismatch", "no_such"] {
        accepted_for(property, &jacobi("phase"), plain.clone()).unwrap_err();
    }
    let Argument::Cut(mut claimed) = plain else {
        panic!("not a cut");
    };
    claimed.shows = Shows::Generations;
    accepted_for("early_completion", &jacobi("phase"), Argument::Cut(claimed)).unwrap_err();
    proposal_by(Layer::Cuts(Shows::Generations), &jacobi("phase"))
        .map(|found| accepted_for("early_completion", &jacobi("phase"), found).unwrap_err())
        .ok();

    let both = jacobi("phase").replace(
        "wait bar[cta] phase",
        "wait bar[cta] phase
                wait bar[1 - cta] phase",
    );
    let found = proposal_by(Layer::Cuts(Shows::Generations), &both).unwrap();
    accepted_for("early_completion", &both, found).unwrap();
}

/// The bytes of every phase that is waited for agree, but one more delivery stays over.
/// What is expected on one mbarrier and arrived at on another next to it. The hang is out of reach
/// of a search at small values, so only the proof can tell.
#[test]
fn bytes_are_expected_by_the_arrival_at_the_same_mbarrier() {
    let handover = |large: &str| {
        format!(
            "protocol handover
            param N in 0..
            mbarrier full {{ arrivals: 1 }}
            mbarrier other {{ arrivals: 1 }}
            semaphore s = 0
            role a {{
                if N > 100000 {{
                    {large}
                }} else {{
                    arrive other
                    s += 1
                    arrive full
                }}
            }}
            role b {{
                wait other 0
                wait s >= 1
                wait full 0
            }}"
        )
    };
    proves(&handover("arrive other s += 1 arrive full"));
    for large in [
        "s += 1 expect_tx full 8 arrive other arrive full",
        "arrive other expect_tx full 8 s += 1 arrive full",
        "s += 1 expect_tx other 8 arrive full arrive other",
    ] {
        does_not_prove(&handover(large));
    }
}

#[test]
fn bytes_have_to_agree_in_the_end_too() {
    let source = |extra: &str| {
        format!(
            "protocol p
            param N in 0..
            mbarrier full {{ arrivals: 1 }}
            mbarrier empty {{ arrivals: 1 }}
            role load {{
                for i in 0..N {{
                    wait empty (i + 1) % 2
                    arrive_expect_tx full 16
                    complete_tx full 16
                }}
                {extra}
            }}
            role math {{
                for i in 0..N {{
                    wait full i % 2
                    arrive empty
                }}
            }}"
        )
    };
    let found = proposal_by(Layer::Cuts(Shows::Generations), &source("")).unwrap();
    accepted_for("tx_mismatch", &source(""), found).unwrap();
    let over = source("arrive_expect_tx full 16");
    let refused = proposal_by(Layer::Cuts(Shows::Generations), &over)
        .map_err(Rejection::Mismatch)
        .and_then(|found| accepted_for("tx_mismatch", &over, found));
    refused.unwrap_err();
}

/// Two groups use barrier 0 by turns, a third one keeps the turns apart.
#[test]
fn generations_of_a_shared_named_barrier_are_counted_over_everybody() {
    let source = |second: &str, kept_apart: &str| {
        format!(
            "protocol p
            param W in 1..
            param N in 0..
            named bar[16]
            role one[w in 0..W] warp {{
                for i in 0..N {{
                    arrive bar[0] 64 * W
                    sync bar[2] 96 * W
                }}
            }}
            role two[w in 0..W] warp {{
                for i in 0..N {{
                    sync bar[0] 64 * W
                    arrive bar[1] 64 * W
                    sync bar[0] {second}
                    sync bar[2] 96 * W
                }}
            }}
            role three[w in 0..W] warp {{
                for i in 0..N {{
                    {kept_apart}
                    arrive bar[0] 64 * W
                    sync bar[2] 96 * W
                }}
            }}"
        )
    };
    let good = source("64 * W", "sync bar[1] 64 * W");
    proves(&good);
    let Argument::Cut(good_cut) = proposal(&good).unwrap() else {
        panic!("not a cut");
    };
    assert!(!good_cut.cases[0].registrations.is_empty());
    does_not_prove(&source("64 * W", "arrive bar[1] 64 * W"));
    does_not_prove(&source("96 * W", "sync bar[1] 64 * W"));
    // Other numbers than the right ones are not accepted.
    for (first, every) in [
        (1, 1),
        (1, 2),
        (2, 1),
        (3, 2),
        (2, 3),
        (0, 2),
        (2, 0),
        (2, -2),
    ] {
        for at in 0..good_cut.cases[0].registrations.len() {
            let mut cut = good_cut.clone();
            let changed = &mut cut.cases[0].registrations[at];
            if (changed.first, changed.every) == (first, every) {
                continue;
            }
            (changed.first, changed.every) = (first, every);
            accepted(&good, Argument::Cut(cut)).unwrap_err();
        }
    }
}

/// A role that goes by two steps while the other goes by one.
#[test]
fn steps_of_two_go_with_steps_of_one() {
    let pair = |second: &str| {
        format!(
            "protocol pair
            param N in 0..
            mbarrier full {{ arrivals: 1 }}
            mbarrier empty {{ arrivals: 1 }}
            role p {{ for i in 0..2 * N {{ wait empty (i + 1) % 2 arrive full }} }}
            role c {{
                for i in 0..N {{ wait full 0 arrive empty wait full {second} arrive empty }}
            }}"
        )
    };
    proves(&pair("1"));
    does_not_prove(&pair("0"));
}

/// A stage is released one step late, and the last one after the loop.
#[test]
fn a_stage_that_is_released_late_needs_a_second_one() {
    let late = |stages: &str| {
        format!(
            "protocol late
            param N in 0..
            param S in {stages}
            mbarrier full[S] {{ arrivals: 1 }}
            mbarrier empty[S] {{ arrivals: 1 }}
            role p {{
                for i in 0..N {{ wait empty[i % S] (i / S + 1) % 2 arrive full[i % S] }}
            }}
            role c {{
                for i in 0..N {{
                    wait full[i % S] i / S % 2
                    if i > 0 {{ commit empty[(i - 1) % S] }}
                }}
                if N > 0 {{ commit empty[(N - 1) % S] }}
            }}"
        )
    };
    proves(&late("2..=3"));
    does_not_prove(&late("1..=2"));
}

/// Tiles that grow, as those of a causal mask do, next to an epilogue.
#[test]
fn a_ring_runs_on_over_tiles_of_different_lengths() {
    let causal = |produced: &str, consumed: &str| {
        format!(
            "protocol causal
            param T in 0..
            mbarrier full {{ arrivals: 1 }}
            mbarrier empty {{ arrivals: 1 }}
            mbarrier done {{ arrivals: 1 }}
            role p {{
                var s = producer(1)
                for t in 0..T {{
                    for k in 0..{produced} {{ wait empty s.phase arrive full advance s }}
                }}
            }}
            role m {{
                var s = consumer(1)
                for t in 0..T {{
                    for k in 0..{consumed} {{ wait full s.phase arrive empty advance s }}
                    arrive done
                }}
            }}"
        )
    };
    proves(&causal("t + 1", "t + 1"));
    does_not_prove(&causal("t + 1", "t + 2"));
    does_not_prove(&causal("t + 1", "T - t + 1"));
}

/// A counter is set back behind the wait for its value, or too late.
#[test]
fn a_counter_is_set_back_in_time_or_not() {
    let cleared = |leader: &str| {
        format!(
            "protocol cleared
            param T in 2..
            param N in 0..
            semaphore met = 0
            semaphore gate = 0
            role cta[t in 0..T] {{
                for i in 0..N {{
                    if t == 0 {{ {leader} }} else {{ met += 1 wait gate >= i + 1 }}
                }}
            }}"
        )
    };
    proves(&cleared("wait met == T - 1 met = 0 gate += 1"));
    does_not_prove(&cleared("wait met == T - 1 gate += 1 met = 0"));
    does_not_prove(&cleared("wait met >= T - 1 met = 0 gate += 1"));
    does_not_prove(&cleared("wait met == T - 1 met = 1 gate += 1"));
    does_not_prove(&cleared("wait met == T - 2 met = 0 gate += 1"));
}

/// Copies may share a counter only as far as the text says; two that clear it are not one member.
#[test]
fn copies_that_clear_a_shared_counter_are_not_one_member() {
    does_not_prove(
        "protocol two
        param C in 1..
        mbarrier own[C] { arrivals: 1 }
        semaphore met = 0
        role cta[c in 0..C] {
            arrive own[c]
            wait own[c] 0
            met += 1
            wait met == 1
            met = 0
        }",
    );
    does_not_prove(
        "protocol two_in_turn
        param C in 1..
        semaphore turn = 0
        semaphore met = 0
        role cta[c in 0..C] {
            met += 1
            wait met == 1
            met = 0
            wait turn == c
            turn += 1
        }",
    );
}

/// Two consumers that take turns at the tiles, as ping-pong kernels do.
#[test]
fn consumers_that_alternate_are_proved() {
    let alternating = |parity: &str| {
        format!(
            "protocol pingpong
            param T in 0..
            mbarrier full[2] {{ arrivals: 1 }}
            mbarrier empty[2] {{ arrivals: 1 }}
            role load {{
                for t in 0..T {{ wait empty[t % 2] (t / 2 + 1) % 2 arrive full[t % 2] }}
            }}
            role math[w in 0..2] {{
                for t in 0..T {{ if t % 2 == w {{ wait full[w] {parity} arrive empty[w] }} }}
            }}"
        )
    };
    proves(&alternating("t / 2 % 2"));
    does_not_prove(&alternating("t % 2"));
}

/// Four CTAs in a ring, each with roles of its own: a loader that waits until both neighbours and its own
/// CTA have read a stage, and two workers that read it and tell one of the neighbours and the loader's CTA.
fn ring_of_ctas(right: usize, arrivals: u32) -> String {
    let mut text = format!(
        "protocol ring_of_ctas
        param N in 0..
        mbarrier full[4, 2] {{ arrivals: 1 }}
        mbarrier empty[4, 2] {{ arrivals: {arrivals} }}
        named meet[4]\n"
    );
    for cta in 0..4 {
        let (after, before, told) = ((cta + 1) % 4, (cta + 3) % 4, (cta + right) % 4);
        text += &format!(
            "role loader{cta} {{
                for i in 0..N {{
                    wait empty[{cta}, i % 2] (i / 2 + 1) % 2
                    arrive_expect_tx full[{cta}, i % 2] 512
                    async copy a completes full[{before}, i % 2] 256
                    async copy a completes full[{after}, i % 2] 256
                }}
            }}
            role first{cta} warp {{
                for i in 0..N {{
                    wait full[{cta}, i % 2] i / 2 % 2
                    sync meet[{cta}] 64
                    arrive empty[{before}, i % 2]
                    arrive empty[{cta}, i % 2]
                }}
            }}
            role second{cta} warp {{
                for i in 0..N {{
                    wait full[{cta}, i % 2] i / 2 % 2
                    sync meet[{cta}] 64
                    arrive empty[{told}, i % 2]
                }}
            }}\n"
        );
    }
    text
}

#[test]
fn ctas_with_roles_of_their_own_are_the_same_but_for_a_number() {
    let source = ring_of_ctas(1, 3);
    let Argument::Cut(good) = proposal(&source).unwrap() else {
        panic!("not a cut");
    };
    accepted(&source, Argument::Cut(good.clone())).unwrap();
    // The cut of the last CTA's loader is that of the first one's under other names, or is asked for.
    let mut bad = good;
    let hold = bad.cases[0]
        .holds
        .iter_mut()
        .rfind(|h| h.class == 9)
        .unwrap();
    hold.stops[10].clear();
    accepted(&source, Argument::Cut(bad)).unwrap_err();
    does_not_prove(&ring_of_ctas(0, 3));
    does_not_prove(&ring_of_ctas(1, 4));
}

/// Warps of different roles that do the same, one of them in a role of its own.
fn warps_that_do_the_same(expected: u32) -> String {
    let both = |cta: usize, plain: u32| {
        let other = 1 - cta;
        let round = |arrives: &str| {
            format!(
                "for i in 0..N {{
                    {arrives}
                    wait halo[{cta}, (i + 1) % 2] i / 2 % 2
                    sync meet[{cta}] {expected}
                }}"
            )
        };
        let still = round("");
        format!(
            "role one{cta} warp {{ {still} }}
            role more{cta}[w in 0..{plain}] warp {{ {still} }}
            role sends{cta} warp {{ {} }}\n",
            round(&format!("arrive halo[{other}, (i + 1) % 2]"))
        )
    };
    format!(
        "protocol halo
        param N in 0..
        mbarrier halo[2, 2] {{ arrivals: 1 }}
        named meet[2]
        {}{}",
        both(0, 2),
        both(1, 2)
    )
}

#[test]
fn warps_of_different_roles_that_do_the_same_are_at_one_place() {
    proves(&warps_that_do_the_same(128));
    does_not_prove(&warps_that_do_the_same(160));
}

/// A split-phase barrier: arrivals before a loop and at its end, waits at its top and behind it.
fn split_phase(first: &str, last: &str, inside: &str) -> String {
    format!(
        "protocol split_phase
        param N in 0..
        barrier halves {{ arrivals: 4 }}
        named meet[2]
        role warps[cta in 0..2][w in 0..2] warp {{
            {first}
            for i in 0..N {{
                if i % 2 == 0 {{
                    wait halves
                    sync meet[cta] 64
                    {last}
                }} else {{
                    wait halves
                    {inside}
                    arrive halves
                }}
            }}
            wait halves
        }}"
    )
}

#[test]
fn arrivals_before_a_loop_are_waited_for_in_it() {
    proves(&split_phase(
        "arrive halves",
        "arrive halves",
        "sync meet[cta] 64",
    ));
    does_not_prove(&split_phase("arrive halves", "", "sync meet[cta] 64"));
    does_not_prove(&split_phase("", "arrive halves", "sync meet[cta] 64"));
    does_not_prove(&split_phase(
        "arrive halves",
        "arrive halves",
        "if w == 0 { sync meet[cta] 64 }",
    ));
    // Whoever leaves the loop does not come to the arrival at its end.
    does_not_prove(&split_phase(
        "arrive halves",
        "arrive halves",
        "if i == 5 { break }",
    ));
}

/// A ring that two CTAs fill, in front of a loop and in it: one of them expects the bytes of both. Its own deliveries
/// are counted by its arrivals, those of the other one as the certificate says.
fn filled_by_two(in_front: i64, in_loop: i64) -> String {
    let fills = |arrives: &str, own: &str, bytes: i64| {
        format!(
            "wait {own}[r % 2] (r / 2 + 1) % 2
             {arrives}
             async copy tile completes full[r % 2] {bytes}
             r = r + 1"
        )
    };
    let expects = "arrive_expect_tx full[r % 2] 96";
    format!(
        "protocol filled
        param K in 1..
        mbarrier full[2] {{ arrivals: 1 }}
        mbarrier empty_a[2] {{ arrivals: 1 }}
        mbarrier empty_b[2] {{ arrivals: 1 }}
        role a {{
            var r = 0
            for i in 0..min(K, 1) {{ {} }}
            for k in 0..K {{
                if K > k + min(K, 1) {{ {} }}
                wait full[k % 2] k / 2 % 2
                arrive empty_a[k % 2]
                arrive empty_b[k % 2]
            }}
        }}
        role b {{
            var r = 0
            for i in 0..min(K, 1) {{ {} }}
            for k in 0..K {{ if K > k + min(K, 1) {{ {} }} }}
        }}",
        fills(expects, "empty_a", 64),
        fills(expects, "empty_a", 64),
        fills("", "empty_b", in_front),
        fills("", "empty_b", in_loop),
    )
}

#[test]
fn deliveries_in_front_of_a_loop_and_in_it() {
    let good = filled_by_two(32, 32);
    proves(&good);
    does_not_prove(&filled_by_two(32, 16));
    does_not_prove(&filled_by_two(64, 64));
    let Argument::Cut(cut) = proposal(&good).unwrap() else {
        panic!("not a cut");
    };
    let [stated] = &cut.cases[0].deliveries[..] else {
        panic!("{:?}", cut.cases[0].deliveries);
    };
    // Each by itself, the two together with a third one, one of them twice, and none.
    let [one, other] = stated.sites[..] else {
        panic!("{stated:?}");
    };
    for sites in [
        vec![one],
        vec![one, other, other],
        vec![one, other, one + 1],
        vec![],
    ] {
        let mut changed = cut.clone();
        changed.cases[0].deliveries[0].sites = sites;
        accepted(&good, Argument::Cut(changed)).unwrap_err();
    }
    let mut changed = cut.clone();
    changed.cases[0].deliveries.clear();
    accepted(&good, Argument::Cut(changed)).unwrap_err();
}
