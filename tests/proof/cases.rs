//! What the cut rule proves beyond the plain case: explicit initialisation, parameters that assumptions
//! bound, semaphores of one member, loops that are left early, surplus bytes; and what it must not.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use warplock::certificate::argument::Argument;
use warplock::certificate::arriver;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Rejection;
use warplock::deadline;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Verdict;

fn proposal(source: &str) -> Result<Argument, String> {
    proposal_by(Layer::Cuts(Shows::Nothing), source)
}

fn proposal_by(layer: Layer, source: &str) -> Result<Argument, String> {
    let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let limit = Duration::from_secs(60);
    match proof::search(&protocol, layer, limit, None, &|_| {}) {
        Guess::Found(argument) | Guess::Fitting(argument) => Ok(argument),
        Guess::Nothing { reason, .. } => Err(reason),
    }
}

fn accepted(source: &str, argument: Argument) -> Result<usize, Rejection> {
    let (certificate, _) = manifest::issue(source, &Narrowing::default(), "deadlock", argument)?;
    let each = Duration::from_secs(60);
    manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {}).map(|c| c.obligations)
}

fn proved(source: &str) -> bool {
    proposal(source).is_ok_and(|argument| accepted(source, argument).is_ok())
}

/// Who initialises, what comes between that and the use, and what the user does first.
fn initialised(init: &str, between: &str, first: &str) -> String {
    format!(
        "protocol p param S in 1..=2 param T in 1.. param N in 0..
        barrier cta {{ arrivals: T + 1 }}
        mbarrier full[S] {{ arrivals: 1, init: explicit }}
        role load {{ {init} {between} for i in 0..N {{ arrive full[i % S]
            if i >= 0 {{ sync cta }} }} }}
        role math[t in 0..T] {{ {first} for i in 0..N {{ wait full[i % S] i / S % 2 sync cta }} }}"
    )
}

#[test]
fn initialisation_has_to_come_first_and_once() {
    let all = "for s in 0..S { init full[s] }";
    assert!(proved(&initialised(all, "sync cta", "sync cta")));
    // The loader has initialised what it uses itself; nothing orders the others.
    assert!(!proved(&initialised(all, "", "")));
    // One element is missing.
    assert!(!proved(&initialised(
        "init full[0]",
        "sync cta",
        "sync cta"
    )));
    // Twice.
    let twice = format!("{all} init full[0]");
    assert!(!proved(&initialised(&twice, "sync cta", "sync cta")));
    // After the barrier.
    assert!(!proved(&initialised("sync cta", all, "sync cta")));
}

/// One tile, or so few that no stage of the last k-tile is needed again.
const BOUNDED: &str = "protocol p param TILES in 0.. param K in 1..
    assume TILES * K < K + 3
    mbarrier full[3] { arrivals: 1 } mbarrier empty[3] { arrivals: 1 }
    role load { for tile in 0..TILES { for k in 0..K { var it = tile * K + k
        wait empty[it % 3] (it / 3 + 1) % 2 arrive full[it % 3] } } }
    role mma { for tile in 0..TILES { for k in 0..K - 1 { var it = tile * K + k
        wait full[it % 3] it / 3 % 2 commit empty[it % 3] } } }";

#[test]
fn cases_have_to_cover_the_domain() {
    let Argument::Cut(cut) = proposal(BOUNDED).unwrap() else {
        panic!("not a cut");
    };
    accepted(BOUNDED, Argument::Cut(cut.clone())).unwrap();
    assert!(cut.cases.iter().all(|case| !case.further.is_empty()));
    for at in 0..cut.cases.len() {
        let mut fewer = cut.clone();
        fewer.cases.remove(at);
        accepted(BOUNDED, Argument::Cut(fewer)).unwrap_err();
    }
    let mut beyond = cut.clone();
    beyond.cases[0].further.push((7, 0));
    accepted(BOUNDED, Argument::Cut(beyond)).unwrap_err();
    // One tile more, and it hangs.
    assert!(!proved(&BOUNDED.replace("K + 3", "K + 4")));
}

#[test]
fn a_semaphore_of_one_member_is_a_variable() {
    let source = |reset: &str, others: &str| {
        format!(
            "protocol p param N in 0.. semaphore turn = 2
            role lead {{ for i in 0..N {{ turn += 1 wait turn == 3 turn = {reset} }} }}
            role other {{ {others} }}"
        )
    };
    assert!(proved(&source("2", "")));
    assert!(!proved(&source("1", "")));
    assert!(!proved(&source("i", "")));
    assert!(!proved(&source("2", "turn += 1")));
}

#[test]
fn loops_may_be_left_early() {
    let source = |load: &str, math: &str| {
        format!(
            "protocol p param N in 0.. param M in 0..
            mbarrier full {{ arrivals: 1 }} mbarrier empty {{ arrivals: 1 }}
            role load {{ for i in 0..N {{ {load} wait empty (i + 1) % 2 arrive full }} }}
            role math {{ for i in 0..N {{ {math} wait full i % 2 arrive empty }} }}"
        )
    };
    let leave = "if i >= M { break }";
    assert!(proved(&source(leave, leave)));
    assert!(proved(&source(leave, "if i >= M { return }")));
    assert!(proved(&source("if i == M { break }", leave)));
    // One round more may be loaded than is used, but not the other way round.
    assert!(proved(&source("if i > M { break }", leave)));
    assert!(!proved(&source(leave, "if i > M { break }")));
    assert!(!proved(&source("if i > M + 1 { break }", leave)));
}

#[test]
fn surplus_bytes_are_harmless_only_where_a_stage_is_used_once() {
    let source = |bound: &str, order: &str| {
        format!(
            "protocol p param N in 0.. param D in 3.. assume N <= {bound}
            mbarrier full[2] {{ arrivals: 1 }}
            role load {{ for i in 0..N {{ {order} }} }}
            role math {{ for i in 0..N {{ wait full[i % 2] i / 2 % 2 }} }}"
        )
    };
    let arrives_first = "arrive_expect_tx full[i % 2] 2 complete_tx full[i % 2] D";
    let delivers_first = "complete_tx full[i % 2] D arrive_expect_tx full[i % 2] 2";
    assert!(proved(&source("2", arrives_first)));
    assert!(!proved(&source("3", arrives_first)));
    assert!(!proved(&source("2", delivers_first)));
}

#[test]
fn hangs_that_need_large_values_are_found() {
    let cases = [
        (
            "param T in 1.. mbarrier done { arrivals: T }
            role thread[t in 0..T] { if t < 200 { arrive done } wait done 0 }",
            vec![201],
        ),
        (
            "param N in 0.. mbarrier full { arrivals: 1 } mbarrier empty { arrivals: 1 }
            role load { for i in 0..N { wait empty (i + 1) % 2 arrive full } }
            role math { for i in 0..min(N, 1000) { wait full i % 2 arrive empty } }",
            vec![1002],
        ),
        (
            "param T in 1.. assume T >= 128 mbarrier done { arrivals: T + 1 }
            role thread[t in 0..T] { arrive done wait done 0 }",
            vec![128],
        ),
    ];
    for (text, least) in cases {
        let protocol = text::load(format!("protocol p {text}").as_bytes()).unwrap();
        let settings = Settings {
            timeout: Duration::from_secs(120),
            objectives: None,
            cancel: &AtomicBool::new(false),
            tell: &|_| {},
            kernel: false,
        };
        let narrowing = Narrowing::default();
        let found = verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings).unwrap();
        let Verdict::Refuted(refutation) = found.verdict else {
            panic!("{:?}", found.verdict);
        };
        assert_eq!(refutation.input.params, least, "{text}");
    }
}

/// Assumptions that fix a parameter leave other values of its domain without any inputs: those are cases
/// too.
#[test]
fn values_that_assumptions_exclude_are_cases() {
    let role = |name: &str, waits: &str, arrives: &str, parity: &str| {
        format!(
            "role {name} {{ for t in 0..T {{ for k in 0..K {{
            wait {waits}[k % S] ({parity}) % 2 arrive {arrives}[k % S] }} }} }}"
        )
    };
    let source = format!(
        "protocol p param T in 0.. param K in 0.. param S in 1..=8
        mbarrier full[S] {{ arrivals: 1 }} mbarrier empty[S] {{ arrivals: 1 }} {} {}",
        role("producer", "empty", "full", "k / S + 1"),
        role("consumer", "full", "empty", "k / S"),
    );
    let narrowing = Narrowing {
        assume: ["T == 2", "K == 3", "S == 2"].map(str::to_owned).to_vec(),
        ..Narrowing::default()
    };
    let mut protocol = text::load(source.as_bytes()).unwrap();
    text::narrow(&mut protocol, &narrowing).unwrap();
    let found = proof::search(
        &protocol,
        Layer::Cuts(Shows::Nothing),
        Duration::from_secs(20),
        None,
        &|_| {},
    );
    if let Guess::Found(argument) | Guess::Fitting(argument) = found {
        let issued = manifest::issue(&source, &narrowing, "deadlock", argument);
        assert!(issued.is_ok(), "{}", issued.unwrap_err());
    }
    let settings = Settings {
        timeout: Duration::from_secs(20),
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
        kernel: false,
    };
    // There is a verdict, whatever it is.
    let found = verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings).unwrap();
    assert!(!matches!(found.verdict, Verdict::Refuted(_)));
}

/// Two warps that meet at so many barriers: what a proof would have to say takes much longer to write down
/// than there is time. Both the search and the checker look up on the way.
#[test]
fn a_decision_is_made_in_time() {
    let (mut declared, mut meets) = (String::new(), String::new());
    for nth in 0..160 {
        declared += &format!("named b{nth} ");
        meets += &format!("sync b{nth} 64 ");
    }
    let source =
        format!("protocol p {declared} role a warp {{ {meets} }} role b warp {{ {meets} }}");
    let protocol = text::load(source.as_bytes()).unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(1),
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
        kernel: false,
    };
    let began = Instant::now();
    let narrowing = Narrowing::default();
    verdict::decide(&protocol, &narrowing, Property::Deadlock, &settings).unwrap();
    // Some more than the limit, for machines that have other things to do.
    assert!(
        began.elapsed() < Duration::from_secs(7),
        "{:?}",
        began.elapsed()
    );
}

/// A certificate that is not checked in time is not accepted.
#[test]
fn a_certificate_is_checked_in_time() {
    let source = "protocol p mbarrier m { arrivals: 1 } role a { arrive m } role b { wait m 0 }";
    let argument = proposal(source).unwrap();
    let narrowing = Narrowing::default();
    let (certificate, _) = manifest::issue(source, &narrowing, "deadlock", argument).unwrap();
    let check = || {
        manifest::check(
            &certificate,
            &Solver::BuiltIn,
            Duration::from_secs(9),
            &|_| {},
        )
    };
    let late = deadline::until(Instant::now(), check);
    assert!(matches!(late, Err(Rejection::Late)), "{late:?}");
    assert!(check().is_ok());
}

/// Declarations have to mean something at every value, also where there is nobody to use them.
#[test]
fn declarations_mean_something_where_there_is_no_copy() {
    let copies = |other: &str| {
        format!(
            "protocol copies
            param C in 0..
            param N in 0..
            mbarrier full[C] {{ arrivals: 1 }}
            mbarrier empty[C] {{ arrivals: 1 }}
            {other}
            role load[c in 0..C - 1000] {{
                for i in 0..N {{
                    wait empty[c] (i + 1) % 2
                    arrive full[c]
                }}
            }}
            role math[c in 0..C - 1000] {{
                for i in 0..N {{
                    wait full[c] i % 2
                    arrive empty[c]
                }}
            }}"
        )
    };
    for layer in [Layer::Order, Layer::Cuts(Shows::Nothing)] {
        let proved = |source: &str| {
            proposal_by(layer, source).is_ok_and(|argument| accepted(source, argument).is_ok())
        };
        assert!(proved(&copies("mbarrier other[4] { arrivals: 1 }")));
        for nothing in [
            "mbarrier other[4] { arrivals: max(C - 500, 500 - C) }",
            "mbarrier other[4 / max(C - 500, 500 - C)] { arrivals: 1 }",
        ] {
            assert!(!proved(&copies(nothing)), "{layer:?}: {nothing}");
        }
    }
}

/// A turn is a turn, whether or not a CTA first looks if it has any.
#[test]
fn a_branch_around_turns_costs_no_proof() {
    let turns = |from: &str, least: usize| {
        format!(
            "protocol p param N in 1.. param M in 1.. pattern visits[N, M] semaphore dq[M] = 0
            let rank(n, m) = count(k in 0..n where visits[k, m])
            grid cta[n in 0..N] launch ascending resident 1.. {{
                if count(m in {from}..M where visits[n, m]) > {least} {{
                    for m in row(visits, n) any order {{ wait dq[m] == rank(n, m) dq[m] += 1 }}
                }}
            }}"
        )
    };
    let accepted = |source: &str| {
        let argument = proposal_by(Layer::Ticket, source);
        argument.is_ok_and(|argument| accepted(source, argument).is_ok())
    };
    assert!(accepted(&turns("0", 0)));
    // A CTA that visits one tile or the first one alone takes no turn there.
    assert!(!accepted(&turns("0", 1)));
    assert!(!accepted(&turns("1", 0)));
}

/// Additions with many names, and waits of several kinds between which only the indices rise.
#[test]
fn wavefronts_in_several_dimensions_are_proved() {
    let accepted = |source: &str| {
        let argument = proposal_by(Layer::Credit, source);
        argument.is_ok_and(|argument| accepted(source, argument).is_ok())
    };
    let cells = |earlier: &str| {
        format!(
            "protocol p param A in 1.. param B in 1.. param R in 0.. param Q in 0..
            semaphore done[A, B, R, Q] = 0
            role cta[a in 0..A][b in 0..B] {{
                for r in 0..R {{
                    for q in 0..Q {{
                        if a > 0 {{ wait done[a - 1, b, r, q] >= 1 }}
                        if b > 0 {{ wait done[a, {earlier}, r, q] >= 1 }}
                        done[a, b, r, q] += 1
                    }}
                }}
            }}"
        )
    };
    assert!(accepted(&cells("b - 1")));
    assert!(!accepted(&cells("b")));
    let rounds = |value: &str| {
        format!(
            "protocol p param A in 1.. param B in 1.. param C in 1.. param R in 0..
            semaphore done[A, B, C] = 0
            role cta[a in 0..A][b in 0..B][c in 0..C] {{
                for r in 0..R {{
                    if a > 0 {{ wait done[a - 1, b, c] >= r + 1 }}
                    if b > 0 {{ wait done[a, b - 1, c] >= r + 1 }}
                    if c > 0 {{ wait done[a, b, c - 1] >= {value} }}
                    done[a, b, c] += 1
                }}
            }}"
        )
    };
    assert!(accepted(&rounds("r + 1")));
    assert!(!accepted(&rounds("r + 2")));
}

/// As many members as a parameter of few values says: each value is a case. A parameter of one value is a number.
#[test]
fn few_numbers_of_members_are_cases() {
    let turns = |domain: &str, filled: &str| {
        format!(
            "protocol p param G in {domain} param K in 0..
            mbarrier full[G] {{ arrivals: 1 }} mbarrier empty[G] {{ arrivals: 1 }}
            role load {{ for k in 0..K {{
                wait empty[k % G] (k / G + 1) % 2 arrive full[k % G] }} }}
            role math[g in 0..G] {{ for k in 0..K {{ if k % G == g {{
                wait full[{filled} % G] k / G % 2 arrive empty[{filled} % G] }} }} }}"
        )
    };
    let accepted = |layer: Layer, source: &str| {
        let argument = proposal_by(layer, source);
        argument.is_ok_and(|argument| accepted(source, argument).is_ok())
    };
    let cases = Layer::CaseSplit(Property::Deadlock);
    assert!(proved(&turns("2..=2", "k")));
    assert!(accepted(cases, &turns("1..=3", "k")));
    // From the third stage on somebody waits for another one's stage.
    assert!(!accepted(cases, &turns("1..=3", "(k + k / 2)")));
}

/// Who comes last is known where nobody else changes the counter, and what is left needs nobody else.
#[test]
fn the_last_to_arrive_may_do_what_is_left() {
    let counted = |declared: &str, cta: &str| {
        format!(
            "protocol p param B in 1.. param S in 1.. {declared} semaphore done[B] = 0
            grid cta[b in 0..B][s in 0..S] launch any resident 1.. {{ {cta} }}
            role host {{ for b in 0..B {{ wait done[b] >= 1 }} }}"
        )
    };
    let accepted = |source: &str| {
        let argument = proposal_by(Layer::Arriver, source);
        argument.is_ok_and(|argument| accepted(source, argument).is_ok())
    };
    let plain = "semaphore c[B] = 0";
    let last = "let t = fetch_add(c[b], 1) if t == S - 1 { done[b] += 1 }";
    for cta in [
        last,
        "let t = fetch_add(c[b], 1) if S == 1 + t { read x c[b] = 0 done[b] += 1 }",
        "let t = fetch_add(c[b], 1) if t != S - 1 { return } for i in 0..S { done[b] += 1 }",
    ] {
        assert!(accepted(&counted(plain, cta)), "{cta}");
    }
    let apart = |declared: &str, cta: &str| {
        let source = counted(declared, cta);
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        arriver::apart(&protocol).is_ok()
    };
    assert!(apart(plain, last));
    // Nobody comes last, somebody else counts, or a number is passed over.
    assert!(!accepted(&counted(plain, &last.replace("S - 1", "S"))));
    assert!(!apart("semaphore c[B] = 1", last));
    assert!(!apart("semaphore c[B] = any", last));
    assert!(!apart(plain, &format!("c[b] += 1 {last}")));
    assert!(!apart(plain, &format!("{last} c[b] = 0")));
    assert!(!apart(plain, &format!("let u = exchange(c[b], 0) {last}")));
    assert!(!apart(
        plain,
        &format!("wait compare_and_swap(done[b], 0, 0) {last}")
    ));
    assert!(!apart(plain, &last.replace("c[b], 1", "c[b], 2")));
    assert!(!apart(plain, &last.replace("c[b]", "c[b + 0]")));
    // Elements of declared data have to be plainly there: behind a result an index outside is undefined.
    let data = "semaphore c[B] = 0 buffer part[4] buffer parts[B, S]";
    let reads = |data: &str| {
        let left = format!("read {data} done[b] += 1");
        last.replace("done[b] += 1", &left)
    };
    assert!(apart(data, &reads("part[0]")));
    assert!(apart(
        data,
        &format!("write parts[b, s] {}", reads("part[3]"))
    ));
    assert!(apart(
        data,
        &last.replace("done", "for i in 0..S { read parts[b, i] } done")
    ));
    for index in [
        "part[4]",
        "part[b]",
        "part[5 / ((S - 5003) * (S - 5003))]",
        "parts[b, S]",
        "parts[s, b]",
    ] {
        assert!(!apart(data, &reads(index)), "{index}");
        assert!(!apart(data, &format!("{last} read {index}")), "{index}");
        assert!(!apart(data, &format!("read {index} {last}")), "{index}");
    }
    assert!(!apart(
        data,
        &last.replace("done", "for i in 1..S + 1 { read parts[b, i] } done")
    ));
    // What the branch evaluates has to be defined, though the new role waits for another form of the same number.
    let rounds = |value: &str| {
        let source = format!(
            "protocol p param N in 1.. param E in 0.. semaphore c = 0 semaphore gate = 0
            role cta[n in 0..N] {{ for e in 0..E {{
                let t = fetch_add(c, 1) if t == {value} {{ gate += 1 }} wait gate >= e + 1
            }} }}"
        );
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        arriver::apart(&protocol).is_ok()
    };
    assert!(rounds("(e + 1) * N - 1"));
    assert!(!rounds("(e + 1) * N - 1 + 1 / (N - N) - 1 / (N - N)"));
    assert!(!rounds("(e + 1) * N - 1 + 0 * (1 / (N - N))"));
    // What is left waits, leaves, assigns, depends on who it is, or on what was returned.
    for left in [
        "wait done[b] >= 1",
        "return",
        "x = 1",
        "if s == 0 { done[b] += 1 }",
        "done[b] += t",
        "let u = fetch_add(done[b], 1) if u == 0 { read y }",
        "c[b] += 1",
        "c[0] = 0",
        "assert 5 / (S - 5003) == 0 done[b] += 1",
    ] {
        let cta = format!("var x = 0 {}", last.replace("done[b] += 1", left));
        assert!(!apart(plain, &cta), "{left}");
    }
    assert!(!apart(plain, &format!("{last} if t == 0 {{ read y }}")));
    assert!(!apart(plain, &format!("{last} else {{ done[b] += 1 }}")));
    // A counter that is set back counts again, and may be set back while others count.
    let back = last.replace("done[b]", "c[b] = 0 done[b]");
    assert!(apart(plain, &back));
    assert!(!apart(plain, &format!("for r in 0..2 {{ {back} }}")));
    assert!(!apart(plain, &back.replace("S - 1", "0")));
    assert!(!apart(
        "semaphore c[B] = 0 role r { wait c[0] >= 1 }",
        &back
    ));
    assert!(!apart("semaphore c = 0", &back.replace("c[b]", "c")));
    assert!(apart(
        "semaphore c[B] = 0",
        &format!("for r in 0..2 {{ {last} }}")
    ));
}
