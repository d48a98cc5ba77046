//! What the kernel accepts, and edited certificates that it refuses.

use std::collections::BTreeSet;
use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Answer;
use warplock::certificate::discharge::Solver;
use warplock::certificate::known::Known;
use warplock::certificate::manifest;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::text::Narrowing;
use warplock::trusted::certificate::Certificate;
use warplock::trusted::certificate::Fact;
use warplock::trusted::certificate::Sum;
use warplock::trusted::obligations;

const RING: &str = "protocol ring
param S in 1..
param N in 0..
param B in 1..
mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: 1 }
role producer {
    var p = producer(S)
    for i in 0..N {
        wait empty[p.index] p.phase
        arrive_expect_tx full[p.index] B
        async copy smem completes full[p.index] B
        advance p
    }
}
role consumer {
    var c = consumer(S)
    for i in 0..N {
        wait full[c.index] c.phase
        arrive empty[c.index]
        advance c
    }
}
";

const ROUNDS: &str = "protocol rounds
param T in 1..
param N in 0..
param M in 1..
named bar[2]
semaphore done = 0
role worker[t in 0..T] {
    for i in 0..N {
        sync bar[1] 32 * T
        done += 1
        wait done >= T * (i + 1)
        var x = i / M
    }
}
";

/// A certificate may claim every property that the argument is written down for, and no other.
#[test]
fn a_certificate_claims_what_the_argument_shows() {
    let found = certificate(&load(RING));
    let limit = Duration::from_secs(60);
    let accepted = |property: &Property| {
        let argument = Argument::Kernel(found.clone());
        let issued = manifest::issue(RING, &Narrowing::default(), property.name(), argument);
        issued.is_ok_and(|(certificate, _)| {
            manifest::check(&certificate, &Solver::BuiltIn, limit, &|_| {}).is_ok()
        })
    };
    let accepted: Vec<Property> = Property::ALL.into_iter().filter(accepted).collect();
    let shown = [
        Property::Deadlock,
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::OverArrival,
        Property::TxMismatch,
        Property::Uninitialized,
        Property::Resources,
    ];
    assert_eq!(accepted, shown);
}

fn load(source: &str) -> Protocol {
    text::load(source.as_bytes()).unwrap()
}

fn certificate(protocol: &Protocol) -> Certificate {
    let limit = Duration::from_secs(60);
    match proof::search(protocol, Layer::Kernel, limit, None, &|_| {}) {
        Guess::Fitting(Argument::Kernel(found)) => found,
        other => panic!("{other:?}"),
    }
}

/// The kinds of obligations that are not discharged; `None` where the certificate does not fit.
fn missing(protocol: &Protocol, certificate: &Certificate) -> Option<BTreeSet<String>> {
    let known = Known::default();
    let limit = Duration::from_secs(20);
    let open = obligations(protocol, certificate)
        .ok()?
        .into_iter()
        .filter(|obligation| known.discharge(obligation, limit) != Answer::Discharged);
    let kind = |name: &str| name.split_once('_').unwrap().1.to_owned();
    Some(open.map(|obligation| kind(&obligation.name)).collect())
}

#[test]
fn what_works_is_accepted() {
    for source in [RING, ROUNDS] {
        let protocol = load(source);
        assert_eq!(
            missing(&protocol, &certificate(&protocol)),
            Some(BTreeSet::new()),
            "{source}"
        );
    }
}

/// Every fact that is dropped or changed is missed, unless the rest will do.
#[test]
fn edited_certificates_are_refused() {
    let protocol = load(RING);
    let whole = certificate(&protocol);
    let mut edits: Vec<(String, Certificate)> = Vec::new();
    let mut edit = |name: String, change: &dyn Fn(&mut Certificate)| {
        let mut edited = whole.clone();
        change(&mut edited);
        edits.push((name, edited));
    };
    edit("no lag".to_owned(), &|c| c.lags.clear());
    edit("no reason to be in turn".to_owned(), &|c| c.in_turn.clear());
    edit("no reason not to be lapped".to_owned(), &|c| {
        c.not_lapped.clear()
    });
    edit("nothing behind".to_owned(), &|c| {
        c.classes.iter_mut().for_each(|l| l.behind.clear())
    });
    edit("less behind".to_owned(), &|c| {
        c.classes
            .iter_mut()
            .flat_map(|l| &mut l.behind)
            .for_each(|b| b.less = Sum::number(-1));
    });
    edit("another lag".to_owned(), &|c| {
        c.lags.iter_mut().for_each(|l| l.rounds = 2)
    });
    edit("no facts".to_owned(), &|c| {
        c.classes
            .iter_mut()
            .flat_map(|l| &mut l.loops)
            .for_each(Vec::clear)
    });
    edit("all ranks 0".to_owned(), &|c| {
        c.classes
            .iter_mut()
            .flat_map(|l| &mut l.ranks)
            .for_each(|r| *r = Sum::default());
    });
    edit("a fact that is false".to_owned(), &|c| {
        c.classes[0].loops[0].push(Fact::Zero(Sum::number(1)));
    });
    edit("chains that begin elsewhere".to_owned(), &|c| {
        c.in_turn.iter_mut().for_each(|r| r.chain.reverse());
        c.not_lapped.iter_mut().for_each(|r| r.chain.reverse());
    });
    edit("empty chains".to_owned(), &|c| {
        c.in_turn.iter_mut().for_each(|r| r.chain.clear());
        c.not_lapped.iter_mut().for_each(|r| r.chain.clear());
    });
    edit("no such lane".to_owned(), &|c| {
        c.in_turn.iter_mut().for_each(|r| r.chain[0].ring = 9)
    });
    edit("no such class".to_owned(), &|c| {
        c.not_lapped.iter_mut().for_each(|r| r.by = 9)
    });
    edit("fewer classes".to_owned(), &|c| c.classes.truncate(1));
    for (name, edited) in edits {
        let open = missing(&protocol, &edited);
        assert_ne!(open, Some(BTreeSet::new()), "{name}");
    }
}
