//! Several properties of one protocol share cuts and discharged obligations: what is decided, and the
//! certificates, are the same as for each property by itself.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warplock::certificate::discharge::Solver;
use warplock::certificate::manifest;
use warplock::certificate::manifest::Certificate;
use warplock::protocol::Property;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict;
use warplock::verdict::Shared;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Verdict;
use warplock::verdict::hazard;

const RING: &str = "protocol ring

param S in 1..=2
param T in 1..
param N in 0..

mbarrier full[S] { arrivals: 1 }
mbarrier empty[S] { arrivals: T }
buffer smem[S]

invariant [i in 0..S] full[i] <= N

role load {
    var p = producer(S)
    repeat N {
        wait empty[p.index] p.phase
        write smem[p.index]
        arrive full[p.index]
        advance p
    }
}

role math[t in 0..T] {
    var c = consumer(S)
    repeat N {
        wait full[c.index] c.phase
        read smem[c.index]
        arrive empty[c.index]
        advance c
    }
}
";

fn certificate(property: Property, shared: &Shared) -> Certificate {
    let protocol = text::load(RING.as_bytes()).unwrap();
    let settings = Settings {
        timeout: Duration::from_secs(120),
        objectives: None,
        cancel: &AtomicBool::new(false),
        tell: &|_| {},
        kernel: false,
    };
    let narrowing = Narrowing::default();
    let decision = verdict::decide_sharing(&protocol, &narrowing, property, &settings, shared);
    match decision.unwrap().verdict {
        Verdict::Proved(proof) => proof.certificate,
        other => panic!("{property:?}: {other:?}"),
    }
}

#[test]
fn certificates_are_those_of_each_property_by_itself() {
    let protocol = text::load(RING.as_bytes()).unwrap();
    let shared = Shared::default();
    let properties = hazard::applicable(&protocol);
    assert!(properties.len() >= 7, "{properties:?}");
    for property in properties {
        let together = certificate(property, &shared);
        assert_eq!(together, certificate(property, &Shared::default()));
        let limit = Duration::from_secs(60);
        let checked = manifest::check(&together, &Solver::BuiltIn, limit, &|_| {}).unwrap();
        assert_eq!(checked.obligations, together.obligations.len());
    }
}
