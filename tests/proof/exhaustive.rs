//! Proofs by exhaustive search: how much was searched, what is refused, and that the checker searches again.

use std::time::Duration;
use std::time::Instant;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Solver;
use warplock::certificate::exhaustive;
use warplock::certificate::exhaustive::Exhaustive;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;
use warplock::certificate::separation::Separation;
use warplock::deadline;
use warplock::protocol::Property;
use warplock::semantics::explore::Options;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

/// No rule covers the reset.
const RESET: &str = "protocol reset param N in 1..=3 semaphore s = 0 mbarrier b { arrivals: N } \
     role one[i in 0..N] { arrive b wait b 0 s = 1 } role two { wait s >= 1 }";

fn searched_with(
    source: &str,
    property: Property,
    options: &Options<'_>,
) -> Result<Exhaustive, String> {
    let protocol = text::load(source.as_bytes()).unwrap();
    let found = exhaustive::explored(&protocol, property, options, &|_| {});
    found.map_err(|refused| refused.reason)
}

fn searched(source: &str, property: Property) -> Result<Exhaustive, String> {
    searched_with(source, property, &exhaustive::limits())
}

fn refused(source: &str) -> String {
    searched(source, Property::Deadlock).unwrap_err()
}

fn certificate() -> Certificate {
    let found = searched(RESET, Property::Deadlock).unwrap();
    let argument = Argument::Exhaustive(found);
    let issued = manifest::issue(RESET, &Narrowing::default(), "deadlock", argument);
    let (certificate, obligations) = issued.unwrap();
    assert_eq!(obligations.len(), 0);
    certificate
}

fn rejection(certificate: &Certificate) -> String {
    manifest::check(certificate, &Solver::BuiltIn, LIMIT, &|_| {})
        .unwrap_err()
        .to_string()
}

fn about(source: String) -> Certificate {
    Certificate {
        sha256: manifest::digest(&source),
        source,
        ..certificate()
    }
}

/// Those that are interchangeable once, or each by itself.
#[test]
fn everything_is_counted() {
    let found = searched(RESET, Property::Deadlock).unwrap();
    assert_eq!((found.points, found.inputs, found.states), (3, 3, 35));
    let plain = Options {
        symmetry: false,
        ..exhaustive::limits()
    };
    let found = searched_with(RESET, Property::Deadlock, &plain).unwrap();
    assert_eq!((found.points, found.inputs, found.states), (3, 3, 75));
    // Every pattern of four tiles, and both orders of each full row.
    let rows = "protocol rows param N in {2} pattern p[N, N] semaphore s = 0 \
         role one { for i in 0..N { for j in row(p, i) any order { s += 1 } } }";
    let found = searched(rows, Property::Deadlock).unwrap();
    assert_eq!((found.points, found.inputs, found.states), (1, 25, 85));
}

#[test]
fn the_checker_searches_again() {
    let certificate = certificate();
    let checked = manifest::check(&certificate, &Solver::BuiltIn, LIMIT, &|_| {}).unwrap();
    assert_eq!((checked.obligations, checked.rule), (0, "exhaustive"));
    assert_eq!(checked.searched, certificate.argument.searched());
    assert_eq!(certificate.argument.checked_by(), "exhaustive search");
    // A solver is not asked.
    let none = Solver::Program("/nonexistent/solver".into());
    manifest::check(&certificate, &none, LIMIT, &|_| {}).unwrap();
    // What is not searched in time is not accepted.
    let late = deadline::until(Instant::now(), || rejection(&certificate));
    assert_eq!(late, "the time was up before the obligations were derived");
}

#[test]
fn other_counts_are_not_accepted() {
    let whole = certificate();
    let found = whole.argument.searched().unwrap();
    let mut tried = 0;
    for other in [0, 1, 2, 4, 34, 36, u64::MAX] {
        let changes: [fn(&mut Exhaustive) -> &mut u64; 3] =
            [|e| &mut e.points, |e| &mut e.inputs, |e| &mut e.states];
        for change in changes {
            let mut edited = found;
            *change(&mut edited) = other;
            let argument = Argument::Exhaustive(edited);
            let edited = Certificate {
                argument,
                ..whole.clone()
            };
            rejection(&edited);
            tried += 1;
        }
    }
    assert_eq!(tried, 21);
    let more = Certificate {
        argument: Argument::Exhaustive(Exhaustive {
            states: 36,
            ..found
        }),
        ..whole
    };
    insta::assert_snapshot!(rejection(&more), @"the search came to 35 states of 3 inputs at 3 points, and not to 36 states of 3 inputs at 3 points");
}

#[test]
fn another_domain_is_not_accepted() {
    let whole = certificate();
    let narrowed = |set: &[(&str, i64)], assume: &[&str]| Narrowing {
        set: set.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        assume: assume.iter().map(|a| (*a).to_owned()).collect(),
    };
    let mut fewer = whole.clone();
    fewer.narrowing = narrowed(&[("N", 2)], &[]);
    insta::assert_snapshot!(rejection(&fewer), @"the recorded assumptions are not those of the proof");
    fewer.assumptions[0] = "N in {2}".to_owned();
    insta::assert_snapshot!(rejection(&fewer), @"the search came to 11 states of 1 input at 1 point, and not to 35 states of 3 inputs at 3 points");
    let mut assumed = whole.clone();
    assumed.narrowing = narrowed(&[], &["N != 2"]);
    assumed.assumptions.insert(1, "N != 2".to_owned());
    insta::assert_snapshot!(rejection(&assumed), @"the search came to 24 states of 2 inputs at 2 points, and not to 35 states of 3 inputs at 3 points");
    let mut wider = about(RESET.replace("1..=3", "1..=4"));
    wider.assumptions[0] = "1 <= N <= 4".to_owned();
    insta::assert_snapshot!(rejection(&wider), @"the search came to 64 states of 4 inputs at 4 points, and not to 35 states of 3 inputs at 3 points");
    let mut open = about(RESET.replace("1..=3", "1.."));
    open.assumptions[0] = "N >= 1".to_owned();
    insta::assert_snapshot!(rejection(&open), @"the rule does not apply to the protocol: a parameter without a greatest value");
}

#[test]
fn another_text_is_not_accepted() {
    let mut changed = certificate();
    changed.source = RESET.replace("s >= 1", "s >= 2");
    insta::assert_snapshot!(rejection(&changed), @"the embedded protocol does not match its digest");
    let hangs = about(RESET.replace("s >= 1", "s >= 2"));
    insta::assert_snapshot!(rejection(&hangs), @"the rule does not apply to the protocol: a run that violates the property");
    let undefined = about(RESET.replace("arrive b", "arrive b 2"));
    insta::assert_snapshot!(rejection(&undefined), @"the rule does not apply to the protocol: a run that does something undefined");
    let longer = about(RESET.replace("s = 1", "s = 1 s = 1"));
    insta::assert_snapshot!(rejection(&longer), @"the search came to 65 states of 3 inputs at 3 points, and not to 35 states of 3 inputs at 3 points");
}

/// What would leave something out is a refusal.
#[test]
fn what_is_not_complete_is_refused() {
    let two = |declared: &str| {
        refused(&format!(
            "protocol p {declared} semaphore s = 0 role r {{ s += 1 }}"
        ))
    };
    insta::assert_snapshot!(two("param N in 0.."), @"a parameter without a greatest value");
    insta::assert_snapshot!(two("param N in 0..=65536"), @"more parameter values than are searched one by one");
    insta::assert_snapshot!(two("param N in 0..=999 param M in 0..=999"), @"more parameter values than are searched one by one");
    insta::assert_snapshot!(two("param N in 1..=3 assume N > 3"), @"a domain without values");
    // At N = 0 it has no value: that excludes nothing.
    insta::assert_snapshot!(two("param N in 0..=3 assume 4 / N >= 1"), @"a protocol that is not well defined everywhere: division by 0: a divisor must be positive");
    insta::assert_snapshot!(two("semaphore t = any"), @"a semaphore of any start value");
    let overflows = "protocol p semaphore s = 9223372036854775807 role r { s += 1 }";
    insta::assert_snapshot!(refused(overflows), @"a run that does something undefined");
    let divides = "protocol p param N in 0..=3 semaphore s = 0 role r { s += 4 / N }";
    insta::assert_snapshot!(refused(divides), @"a protocol that is not well defined everywhere: division by 0: a divisor must be positive");
    let long = "protocol p semaphore s = 0 role r { for i in 0..2000001 { s += 1 } }";
    insta::assert_snapshot!(refused(long), @"larger inputs than are searched");
    let few = |max_states, max_bytes| {
        let options = Options {
            max_states,
            max_bytes,
            ..Options::default()
        };
        searched_with(RESET, Property::Deadlock, &options).unwrap_err()
    };
    insta::assert_snapshot!(few(12, usize::MAX), @"more states than are searched");
    insta::assert_snapshot!(few(u64::MAX, 60), @"more states than are searched");
}

/// A plain assumption ends a domain that has no end by itself.
#[test]
fn assumptions_are_respected() {
    let source = "protocol p param N in 1.. param M in {2, 4, 6} assume N <= 5 assume N * M != 8 \
         semaphore s = 0 role r[i in 0..N] { s += 1 wait s >= N }";
    let found = searched(source, Property::Deadlock).unwrap();
    // Of 15 combinations (4, 2) and (2, 4) are excluded.
    assert_eq!(found.points, 13);
}

/// An argument about parts states obligations of them: a search has none.
#[test]
fn a_search_is_no_part_of_another_argument() {
    let source = "protocol p param N in 1..=2 semaphore turn = 0 barrier met[N] { arrivals: 2 } \
         role main[n in 0..N] { wait turn == n turn += 1 sync met[n] }";
    let search = || Box::new(Argument::Exhaustive(Exhaustive::default()));
    let argument = Argument::Separation(Separation {
        shared: search(),
        own: search(),
    });
    let refused = manifest::issue(source, &Narrowing::default(), "deadlock", argument);
    insta::assert_snapshot!(refused.unwrap_err(), @"the rule does not apply to the protocol: a search inside another argument");
}

/// A small protocol for each property, and what makes it violate it.
#[test]
fn every_property_is_decided() {
    let turn = "wait empty[k % 2] (k / 2 + 1) % 2";
    let ring = format!(
        "protocol ring mbarrier full[2] {{ arrivals: 1 }} mbarrier empty[2] {{ arrivals: 1 }} \
         buffer smem[2] \
         role load {{ for k in 0..3 {{ {turn} write smem[k % 2] arrive full[k % 2] }} }} \
         role use {{ for k in 0..3 {{ wait full[k % 2] k / 2 % 2 read smem[k % 2] arrive empty[k % 2] }} }}"
    );
    let ring = ring.as_str();
    let meet = "protocol meet named bar[1] role a warp { sync bar[0] 64 } \
         role b warp { sync bar[0] 64 } role c { }";
    let pass = "protocol pass mbarrier b { arrivals: 1 } role a { arrive b } role c { wait b 0 }";
    let over = "protocol over mbarrier b { arrivals: 2 } role a[i in 0..2] { arrive b }";
    let bytes = "protocol bytes mbarrier b { arrivals: 1 } buffer d[1] \
         role r { expect_tx b 32 async copy d[0] completes b 32 arrive b wait b 0 }";
    let init = "protocol init mbarrier b { arrivals: 1, init: explicit } semaphore s = 0 \
         role a { init b s += 1 arrive b } role c { wait s >= 1 wait b 0 }";
    let seen = "protocol seen semaphore ready = 0 buffer out[1] \
         role p cluster 0 { write out[0] red.release.gpu ready += 1 } \
         role c cluster 1 { wait.acquire.gpu ready >= 1 read out[0] }";
    let pool = "protocol pool pool q = 4 role a[i in 0..2] { acquire q 3 release q 3 }";
    let claims = "protocol claims semaphore s = 0 invariant s <= 2 \
         role a[i in 0..2] { s += 1 assert s >= 1 }";
    let cases = [
        (
            Property::Deadlock,
            ring,
            "read smem",
            "wait empty[0] 1 read smem",
        ),
        (
            Property::EarlyCompletion,
            meet,
            "role c {",
            "role c warp { arrive bar[0] 64",
        ),
        (
            Property::EarlyPass,
            pass,
            "arrive b",
            "arrive b arrive b arrive b",
        ),
        (Property::LappedWait, ring, turn, ""),
        (
            Property::OverArrival,
            over,
            "arrive b",
            "arrive b 2 arrive b",
        ),
        (
            Property::TxMismatch,
            bytes,
            "completes b 32",
            "completes b 31",
        ),
        (Property::Uninitialized, init, "wait s >= 1", ""),
        (Property::Race, ring, turn, ""),
        (Property::StaleRead, seen, "release.gpu", "release.cta"),
        (Property::Resources, pool, "acquire q 3", "acquire q 5"),
        (Property::Assertion, claims, "s <= 2", "s <= 1"),
    ];
    assert_eq!(cases.map(|case| case.0), Property::ALL);
    let mut report = String::new();
    for (property, source, what, other) in cases {
        let found = searched(source, property).unwrap().extent();
        let broken = source.replace(what, other);
        assert_ne!(broken, source);
        let broken = searched(&broken, property).unwrap_err();
        report.push_str(&format!("{}: {found}; {broken}\n", property.name()));
    }
    insta::assert_snapshot!(report, @"
    deadlock: 21 states of 1 input at 1 point; a run that violates the property
    early_completion: 4 states of 1 input at 1 point; a run that violates the property
    early_pass: 3 states of 1 input at 1 point; a run that violates the property
    lapped_wait: 21 states of 1 input at 1 point; a run that violates the property
    over_arrival: 3 states of 1 input at 1 point; a run that violates the property
    tx_mismatch: 7 states of 1 input at 1 point; a run that violates the property
    uninitialized: 7 states of 1 input at 1 point; a run that violates the property
    race: 21 states of 1 input at 1 point; a run that violates the property
    stale_read: 3 states of 1 input at 1 point; a run that violates the property
    resources: 5 states of 1 input at 1 point; a run that violates the property
    assertion: 4 states of 1 input at 1 point; a run that violates the property
    ");
}

/// Something undefined ends a run, whichever property it is about: what would follow is not searched.
#[test]
fn an_undefined_run_proves_nothing() {
    let source = "protocol p mbarrier b { arrivals: 1 } buffer x[1] \
         role a { arrive b 2 write x[0] } role c { read x[0] }";
    let reason = "a run that does something undefined";
    for property in Property::ALL {
        let expected = match property {
            Property::OverArrival => "a run that violates the property",
            _ => reason,
        };
        assert_eq!(
            searched(source, property).unwrap_err(),
            expected,
            "{property:?}"
        );
    }
}
