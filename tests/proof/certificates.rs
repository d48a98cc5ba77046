//! Certificates: written, read back and checked; and refused as soon as anything about them is
//! changed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::cut::artefact::Shows;
use warplock::certificate::discharge::Solver;
use warplock::certificate::grid::Residency;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;
use warplock::certificate::manifest::Rejection;
use warplock::certificate::obligation::Obligation;
use warplock::certificate::separation;
use warplock::certificate::separation::Separation;
use warplock::certificate::ticket::Tally;
use warplock::certificate::ticket::Ticket;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;

const LIMIT: Duration = Duration::from_secs(60);

fn source(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings/block_sparse");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn found(source: &str) -> Ticket {
    let protocol = text::load(source.as_bytes()).unwrap();
    match proof::search(&protocol, Layer::Ticket, LIMIT, None, &|_| {}) {
        Guess::Found(Argument::Ticket(ticket)) => ticket,
        Guess::Found(other) | Guess::Fitting(other) => panic!("found {other:?}"),
        Guess::Nothing { reason, .. } => panic!("no artefact: {reason}"),
    }
}

fn ticket_of(certificate: &Certificate) -> Ticket {
    match &certificate.argument {
        Argument::Ticket(ticket) => ticket.clone(),
        other => panic!("not a ticket: {other:?}"),
    }
}

fn issued(name: &str) -> (Certificate, Vec<Obligation>) {
    let source = source(name);
    let argument = Argument::Ticket(found(&source));
    manifest::issue(&source, &Narrowing::default(), "deadlock", argument).unwrap()
}

fn check(certificate: &Certificate) -> Result<manifest::Checked, Rejection> {
    manifest::check(certificate, &Solver::BuiltIn, LIMIT, &|_| {})
}

fn refusal(certificate: &Certificate) -> String {
    check(certificate).unwrap_err().to_string()
}

#[test]
fn a_certificate_survives_writing_and_reading() {
    let (certificate, obligations) = issued("lock_rank.wlk");
    let folder = tempfile::tempdir().unwrap();
    let written = manifest::write(&certificate, &obligations, folder.path()).unwrap();
    // Writing the same again changes nothing.
    assert_eq!(
        manifest::write(&certificate, &obligations, folder.path()).unwrap(),
        written
    );
    let read = manifest::read(&written).unwrap();
    assert_eq!(read, certificate);
    let checked = check(&read).unwrap();
    assert_eq!(checked.obligations, obligations.len());
    assert_eq!(checked.rule, "ticket");
    assert_eq!(
        fs::read_dir(&written).unwrap().count(),
        obligations.len() + 1
    );
}

#[test]
fn scripts_are_standalone() {
    let (_, obligations) = issued("lock_rank.wlk");
    for obligation in &obligations {
        let script = obligation.script();
        assert!(script.contains("(set-logic ALL)"), "{script}");
        assert!(script.ends_with("(check-sat)\n"), "{script}");
    }
}

#[test]
fn another_text_is_refused() {
    let (mut certificate, _) = issued("lock_rank.wlk");
    certificate.source = certificate
        .source
        .replace("launch ascending", "launch descending");
    assert_eq!(
        refusal(&certificate),
        "the embedded protocol does not match its digest"
    );
    // A digest made to fit does not help: the launch order no longer fits the argument.
    certificate.sha256 = manifest::digest(&certificate.source);
    assert_eq!(
        refusal(&certificate),
        "the rule does not apply to the protocol: CTAs do not start in the order of the tickets"
    );
}

#[test]
fn a_weaker_lock_leaves_an_obligation_open() {
    let (certificate, _) = issued("lock_rank.wlk");
    let ticket = ticket_of(&certificate);
    let broken = certificate
        .source
        .replace("k in 0..n where", "k in 1..n where");
    assert_ne!(broken, certificate.source);
    let (certificate, _) = manifest::issue(
        &broken,
        &Narrowing::default(),
        "deadlock",
        Argument::Ticket(ticket),
    )
    .unwrap();
    let refusal = check(&certificate).unwrap_err();
    assert!(matches!(refusal, Rejection::Open { .. }), "{refusal}");
}

/// The other CTA of each pair never comes to its barrier. That accesses are ordered can still be
/// shown of either part, but not that nobody hangs.
#[test]
fn parts_that_show_another_property_are_refused() {
    let source = "protocol p param N in 1.. semaphore turn = 0 barrier met[N] { arrivals: 2 } \
         role main[n in 0..N] { wait turn == n turn += 1 sync met[n] }";
    let parts = separation::parts(&text::load(source.as_bytes()).unwrap()).unwrap();
    let shown = |part: &Protocol, layer| match proof::search(part, layer, LIMIT, None, &|_| {}) {
        Guess::Found(argument) | Guess::Fitting(argument) => Box::new(argument),
        Guess::Nothing { reason, .. } => panic!("no artefact: {reason}"),
    };
    for shows in [Shows::Ordering, Shows::Visibility] {
        let argument = Argument::Separation(Separation {
            shared: shown(&parts.shared, Layer::Ticket),
            own: shown(&parts.own, Layer::Cuts(shows)),
        });
        let (certificate, _) =
            manifest::issue(source, &Narrowing::default(), "deadlock", argument).unwrap();
        assert_eq!(
            refusal(&certificate),
            "this argument by the separation rule does not prove `deadlock`"
        );
    }
}

/// What a part leaves out is evaluated all the same: values that nothing needs, branches and loops in which
/// nothing is left, and objects that nobody uses.
#[test]
fn what_no_part_evaluates_is_defined() {
    let source = |divisor: &str, before: &str, object: &str| {
        let (before, object) = (before.replace('D', divisor), object.replace('D', divisor));
        format!(
            "protocol p param N in 1.. param M in 0.. semaphore turn = 0
            barrier met[N] {{ arrivals: 2 }} {object}
            role main[n in 0..N] {{ {before} wait turn == n turn += 1 sync met[n] }}
            role other[n in 0..N] {{ sync met[n] }}"
        )
    };
    for (before, object) in [
        ("var junk = 5 / (D)", ""),
        ("if 5 / (D) > n { var junk = n }", ""),
        ("for i in 0..5 / (D) { var junk = i }", ""),
        ("var junk = n for i in 0..M { junk = junk + i / (D) }", ""),
        ("", "semaphore unused[5 / (D)] = 0"),
    ] {
        for (divisor, defined) in [("N + 3", true), ("(N - 5003) * (N - 5003)", false)] {
            let source = source(divisor, before, object);
            let protocol = text::load(source.as_bytes()).unwrap();
            let found = proof::search(&protocol, Layer::Separation, LIMIT, None, &|_| {});
            let Guess::Fitting(argument) = found else {
                panic!("{source}: {found:?}");
            };
            let (certificate, _) =
                manifest::issue(&source, &Narrowing::default(), "deadlock", argument).unwrap();
            let each = Duration::from_secs(2);
            let checked = manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {});
            assert_eq!(checked.is_ok(), defined, "{source}: {checked:?}");
        }
    }
}

/// Which row a loop goes over is asked even if rows have no entries.
#[test]
fn a_row_without_entries_is_defined() {
    for (row, defined) in [("n / (M + 1)", true), ("n / M", false)] {
        let source = format!(
            "protocol p param N in 1.. param M in 0.. pattern seen[N, M]
            mbarrier full[N] {{ arrivals: 1 }}
            role main[n in 0..N] {{ for m in row(seen, {row}) {{ }} arrive full[n] }}
            role other[n in 0..N] {{ wait full[n] 0 }}"
        );
        let protocol = text::load(source.as_bytes()).unwrap();
        let layer = Layer::Cuts(Shows::Nothing);
        let found = proof::search(&protocol, layer, LIMIT, None, &|_| {});
        let (Guess::Found(argument) | Guess::Fitting(argument)) = found else {
            panic!("{source}: {found:?}");
        };
        let (certificate, _) =
            manifest::issue(&source, &Narrowing::default(), "deadlock", argument).unwrap();
        let each = Duration::from_secs(2);
        let checked = manifest::check(&certificate, &Solver::BuiltIn, each, &|_| {});
        assert_eq!(checked.is_ok(), defined, "{source}: {checked:?}");
    }
}

#[test]
fn another_artefact_is_refused() {
    let (certificate, _) = issued("lock_rank.wlk");
    let ticket = ticket_of(&certificate);
    let variants: Vec<(&str, Ticket)> = vec![
        ("reversed order", {
            let mut t = ticket.clone();
            t.order[0].descending = true;
            t
        }),
        (
            "no order",
            Ticket {
                order: Vec::new(),
                ..ticket.clone()
            },
        ),
        (
            "no counted indices",
            Ticket {
                counted: Default::default(),
                ..ticket.clone()
            },
        ),
        (
            "no tallies",
            Ticket {
                tallies: Default::default(),
                ..ticket.clone()
            },
        ),
        (
            "a whole grid nobody promised",
            Ticket {
                residency: Residency::WholeGrid,
                ..ticket.clone()
            },
        ),
        ("blocks where there are none", {
            let mut t = ticket.clone();
            t.tallies
                .values_mut()
                .for_each(|tally| *tally = Tally::Block(1));
            t
        }),
        ("blocks of nothing", {
            let mut t = ticket.clone();
            t.tallies
                .values_mut()
                .for_each(|tally| *tally = Tally::Block(0));
            t
        }),
        ("a counted index that does not exist", {
            let mut t = ticket.clone();
            t.counted
                .values_mut()
                .for_each(|counted| *counted = vec![7]);
            t
        }),
    ];
    for (what, variant) in variants {
        // As an edit of the manifest, and issued anew with all its obligations.
        let edited = Certificate {
            argument: Argument::Ticket(variant.clone()),
            ..certificate.clone()
        };
        assert!(
            check(&edited).is_err(),
            "{what}: the edited manifest was accepted"
        );
        let fresh = manifest::issue(
            &certificate.source,
            &Narrowing::default(),
            "deadlock",
            Argument::Ticket(variant),
        );
        if let Ok((fresh, _)) = fresh {
            assert!(
                check(&fresh).is_err(),
                "{what}: the new certificate was accepted"
            );
        }
    }
}

#[test]
fn another_domain_is_refused() {
    let (certificate, _) = issued("lock_rank.wlk");
    let mut narrowed = certificate.clone();
    narrowed.narrowing.assume.push("N <= 4".to_owned());
    assert_eq!(
        refusal(&narrowed),
        "the recorded assumptions are not those of the proof"
    );
    let mut nonsense = certificate.clone();
    nonsense.narrowing.set.insert("Q".to_owned(), 1);
    assert_eq!(
        refusal(&nonsense),
        "the embedded protocol is not valid: no parameter named `Q`"
    );
    let mut quiet = certificate;
    quiet.assumptions.pop();
    assert_eq!(
        refusal(&quiet),
        "the recorded assumptions are not those of the proof"
    );
}

#[test]
fn missing_extra_and_changed_obligations_are_refused() {
    let (certificate, _) = issued("lock_rank.wlk");
    let mut missing = certificate.clone();
    let gone = missing.obligations.remove(1);
    assert!(refusal(&missing).starts_with(&format!("{} is missing", gone.file)));
    let mut twice = certificate.clone();
    twice.obligations.push(gone.clone());
    assert_eq!(refusal(&twice), "an obligation is recorded twice");
    let mut extra = certificate.clone();
    extra.obligations.push(manifest::Entry {
        file: "more.smt2".to_owned(),
        ..gone.clone()
    });
    assert_eq!(
        refusal(&extra),
        "more.smt2 is recorded but the rule does not require it"
    );
    let mut changed = certificate;
    changed.obligations[0].sha256 = gone.sha256;
    assert!(refusal(&changed).contains("differs from what the rule requires"));
}

#[test]
fn other_properties_formats_and_names_are_refused() {
    let (certificate, _) = issued("dense.wlk");
    let race = Certificate {
        property: "race".to_owned(),
        ..certificate.clone()
    };
    assert_eq!(
        refusal(&race),
        "this argument by the ticket rule does not prove `race`"
    );
    let newer = Certificate {
        schema: 2,
        ..certificate.clone()
    };
    assert_eq!(
        refusal(&newer),
        "certificate format 2 is not the known format 1"
    );
    let renamed = Certificate {
        protocol: "other".to_owned(),
        ..certificate
    };
    assert_eq!(
        refusal(&renamed),
        "the certificate is for `other` but embeds `dense`"
    );
}

#[test]
fn damaged_folders_are_refused() {
    let (certificate, obligations) = issued("dense.wlk");
    let folder = tempfile::tempdir().unwrap();
    let written = manifest::write(&certificate, &obligations, folder.path()).unwrap();
    let script = written.join(&certificate.obligations[0].file);
    let original = fs::read_to_string(&script).unwrap();

    fs::write(&script, original.replace("check-sat", "exit")).unwrap();
    assert!(
        manifest::read(&written)
            .unwrap_err()
            .to_string()
            .contains("differs from the one")
    );
    fs::remove_file(&script).unwrap();
    assert!(matches!(
        manifest::read(&written),
        Err(Rejection::File { .. })
    ));
    fs::write(&script, original).unwrap();
    assert!(manifest::read(&written).is_ok());

    let path = written.join(manifest::MANIFEST);
    let text = fs::read_to_string(&path).unwrap();
    for cut in [0, 1, text.len() / 3, text.len() / 2, text.len() - 2] {
        fs::write(&path, &text[..cut]).unwrap();
        assert!(manifest::read(&written).is_err(), "accepted {cut} bytes");
    }
    fs::write(
        &path,
        text.replacen("\"schema\"", "\"surprise\": 1, \"schema\"", 1),
    )
    .unwrap();
    assert!(
        manifest::read(&written).is_err(),
        "accepted an unknown field"
    );
    // One reader might take the first of two values, and another one the second.
    fs::write(
        &path,
        text.replacen("\"set\": {", "\"set\": {\"M\": 4, \"M\": 3", 1),
    )
    .unwrap();
    assert!(
        manifest::read(&written)
            .unwrap_err()
            .to_string()
            .contains("duplicate key")
    );
    for (what, edited) in [
        ("\"order\"", "\"surprise\": 1, \"order\""),
        ("\"counted\": {", "\"counted\": {\"0\": [0], "),
    ] {
        let edited = text.replacen(what, edited, 1);
        assert_ne!(edited, text, "{what}");
        fs::write(&path, edited).unwrap();
        assert!(manifest::read(&written).is_err(), "accepted {what}");
    }
    let outside = text.replace(&certificate.obligations[0].file, "../outside.smt2");
    fs::write(&path, outside).unwrap();
    assert!(
        manifest::read(&written)
            .unwrap_err()
            .to_string()
            .contains("is not a file of")
    );
}
