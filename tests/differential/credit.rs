//! Random protocols of counters: whatever the credit rule proves is searched exhaustively at small parameter values, where
//! nothing may hang or be undefined.
//!
//! The protocols are those of `support/credit_templates.rs` with edits. Seeds count from 10,000,000.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::credit::Affine;
use warplock::certificate::credit::Credit;
use warplock::certificate::credit::Place;
use warplock::certificate::discharge::Answer;
use warplock::certificate::discharge::Solver;
use warplock::certificate::discharge::discharge;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::text;

use super::order::never_wrong;
use crate::support::credit_templates::KERNELS;
use crate::support::edited::generate;

/// Cases of one run.
const CASES: u64 = 60;

#[test]
fn what_the_credit_rule_proves_never_goes_wrong() {
    never_wrong(
        Layer::Credit,
        &|seed| generate(&KERNELS, seed),
        10_000_000,
        CASES,
    );
}

fn found(template: &str) -> (Protocol, Credit) {
    let source = format!("protocol plain\n{template}");
    let protocol = text::load(source.as_bytes()).unwrap();
    // There is time for this, however busy the machine.
    let limit = Duration::from_secs(120);
    match proof::search(&protocol, Layer::Credit, limit, None, &|_| {}) {
        Guess::Found(Argument::Credit(credit)) => (protocol, credit),
        other => panic!("{other:?}\n{source}"),
    }
}

/// What is edited works, and everything that a proof says is needed.
#[test]
fn a_proof_with_another_rank_or_without_an_addition_is_refused() {
    let holds = |protocol: &Protocol, credit: Credit| {
        let all = Argument::Credit(credit).obligations(protocol).unwrap();
        let limit = Duration::from_secs(20);
        let mut all = all.iter();
        all.all(|o| discharge(o, &Solver::BuiltIn, limit) == Answer::Discharged)
    };
    for template in KERNELS.templates {
        let (protocol, credit) = found(template);
        assert!(holds(&protocol, credit.clone()), "{template}");
        let mut flat = credit.clone();
        for wait in &mut flat.waits {
            wait.rank = vec![Affine::default()];
        }
        let once = credit
            .waits
            .iter()
            .all(|wait| wait.rank == vec![Affine::default()]);
        let alone = template.contains("semaphore ready");
        assert!(once || alone || !holds(&protocol, flat), "{template}");
        for nth in 0..credit.waits.len() {
            let mut less = credit.clone();
            less.waits[nth].alternatives.pop();
            assert!(!holds(&protocol, less), "{template}");
            let mut moved = credit.clone();
            for place in moved.waits[nth]
                .alternatives
                .iter_mut()
                .flatten()
                .flat_map(|s| &mut s.at)
            {
                match place {
                    Place::At(one) => one.number += 1,
                    Place::From(_, to) => to.number -= 1,
                }
            }
            assert!(!holds(&protocol, moved), "{template}");
        }
    }
}
