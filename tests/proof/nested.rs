//! Arguments that hold others: each is asked for what it is used for, and nothing of the text is left to nobody.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::arriver;
use warplock::certificate::arriver::Arriver;
use warplock::certificate::case_split::CaseSplit;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(240);

fn load(source: &str) -> Protocol {
    text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}\n{source}"))
}

fn found(protocol: &Protocol, layer: Layer) -> Argument {
    match proof::search(protocol, layer, LIMIT, None, &|_| {}) {
        Guess::Fitting(argument) | Guess::Found(argument) => argument,
        Guess::Nothing { reason, .. } => panic!("{reason}"),
    }
}

/// Why an argument does not prove that there is no deadlock; nothing if it does.
fn refused(source: &str, argument: Argument) -> String {
    let issued = manifest::issue(source, &Narrowing::default(), "deadlock", argument);
    let checked = issued.and_then(|(certificate, _)| {
        manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {})
    });
    checked.map_or_else(|rejection| rejection.to_string(), |_| String::new())
}

#[test]
fn an_argument_within_the_arriver_rule_is_about_deadlock() {
    let source = |more: &str| {
        format!(
            "protocol last param N in 1.. semaphore c = 0 semaphore done = 0 semaphore never = 0 buffer d[N]
             role w[n in 0..N] {{ write d[n] let t = fetch_add(c, 1) if t == N - 1 {{ done += 1 }} }}
             role u {{ wait done >= 1 {more} }}"
        )
    };
    let within = |source: &str, layer| {
        let apart = arriver::apart(&load(source)).unwrap();
        let argument = Box::new(found(&apart, layer));
        refused(source, Argument::Arriver(Arriver { argument }))
    };
    let right = source("");
    assert_eq!(within(&right, Layer::Cuts(Shows::Nothing)), "");
    // That there is no race says nothing of who waits for ever.
    let hangs = source("wait never >= 1");
    insta::assert_snapshot!(
        within(&hangs, Layer::Cuts(Shows::Ordering)),
        @"this argument by the arriver rule does not prove `deadlock`"
    );
}

/// CTAs that take turns, with another role and other declarations.
fn turns(declared: &str, before: &str, each: &str) -> String {
    format!(
        "protocol turns param N in 1.. param M in 1.. param C in 1.. pattern seen[N, M]
         let rank(n, m) = count(k in 0..n where seen[k, m])
         semaphore turn[M] = 0 barrier met[N] {{ arrivals: 2 }} {declared}
         role main[n in 0..N] {{ for m in 0..M {{ if seen[n, m] {{
             wait turn[m] == rank(n, m) turn[m] += 1 sync met[n] }} }} }}
         role other[n in 0..N] {{ {before} for m in 0..M {{ {each} if seen[n, m] {{ sync met[n] }} }} }}"
    )
}

#[test]
fn what_no_part_of_a_separation_has_is_declared_in_range() {
    let refuses = |declared: &str| {
        let source = turns(declared, "", "");
        refused(&source, found(&load(&source), Layer::Separation))
    };
    assert_eq!(refuses("mbarrier junk { arrivals: C }"), "");
    assert_eq!(refuses("pool junk = C - 1"), "");
    assert_eq!(refuses("mbarrier junk[N - N] { arrivals: C - 5 }"), "");
    for declared in [
        "mbarrier junk { arrivals: (C - 1333) * (C - 1333) }",
        "mbarrier junk[2] { arrivals: C - 1 }",
        "barrier junk { arrivals: 2 - C }",
        "pool junk = (C - 1333) * (C - 1333) - 1",
    ] {
        assert!(
            refuses(declared).contains("`junk` is declared with"),
            "{declared}"
        );
    }
}

#[test]
fn a_case_does_not_take_the_protocol_apart() {
    let text = |divisor: &str| {
        turns(
            "",
            "var d = 3 var x = 0",
            &format!("x = 5 / {divisor} d = d - 1"),
        )
    };
    let part = |source: &str| Box::new(found(&load(source), Layer::Separation));
    assert_eq!(refused(&text("3"), *part(&text("3"))), "");
    // It divides by 0 in the fourth round.
    let whole = text("d");
    let split = CaseSplit {
        param: 2,
        from: 2,
        below: part(&text("3")),
        above: part(&text("3")),
    };
    insta::assert_snapshot!(refused(&whole, Argument::CaseSplit(split)), @"the rule does not apply to the protocol: a case whose proof takes the protocol apart");
}

/// Statements of a loop that is unrolled for a proof are as many as there are iterations.
#[test]
fn copies_of_a_statement_are_told_apart() {
    let source = |within: &str, behind: &str| {
        format!(
            "protocol turns param N in 1.. semaphore s = 0 semaphore j[2] = 0
             grid cta[n in 0..N] launch any resident all {{
                 wait s == n for i in 0..2 {{ wait j[i] == n j[i] += 1 {within} }} {behind} }}"
        )
    };
    let turns = |source: &str| {
        let found = proof::search(&load(source), Layer::Turns, LIMIT, None, &|_| {});
        match found {
            Guess::Fitting(argument) | Guess::Found(argument) => refused(source, argument),
            Guess::Nothing { reason, .. } => reason,
        }
    };
    assert_eq!(turns(&source("", "s += 1")), "");
    // A CTA adds twice, so that the next one may never see its number.
    assert_ne!(turns(&source("s += 1", "")), "");
}
