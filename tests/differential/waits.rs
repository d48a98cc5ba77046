//! Turns and supplies against the reference semantics: whatever the kernel accepts of random protocols is searched exhaustively
//! at small values, and so is what it accepts with the certificate of another protocol.
//!
//! The protocols are those of `support/turn_templates.rs` and `support/credit_templates.rs` with edits. Seeds count from 26,000,000.

use std::time::Duration;

use warplock::certificate::argument::Argument;
use warplock::certificate::discharge::Answer;
use warplock::certificate::known::Known;
use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::protocol::Protocol;
use warplock::text;
use warplock::trusted::events::certificate::Events;
use warplock::trusted::events::obligations;

use super::order::never_wrong;
use super::order::wrong;
use crate::support::campaign::log;
use crate::support::campaign::number;
use crate::support::credit_templates;
use crate::support::edited::Kernels;
use crate::support::edited::generate;
use crate::support::turn_templates;

/// Cases of one run.
const CASES: u64 = 60;

/// Those with patterns, all of which are searched.
const PART: u64 = 16;

#[test]
fn what_the_kernel_accepts_of_turns_never_goes_wrong() {
    let edited = |seed| generate(&turn_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 26_000_000, PART);
}

#[test]
fn what_it_accepts_of_supplies_never_goes_wrong() {
    let edited = |seed| generate(&credit_templates::KERNELS, seed);
    never_wrong(Layer::Kernel, &edited, 27_000_000, CASES);
}

/// The certificates about waits of templates as they are, and how many are proved by facts about counters.
fn certificates(kernels: &Kernels) -> (Vec<Events>, usize) {
    let mut counted = 0;
    let each = kernels.templates.iter().filter_map(|template| {
        let source = format!("protocol plain\n{template}");
        let protocol = text::load(source.as_bytes()).unwrap();
        let limit = Duration::from_secs(30);
        match proof::search(&protocol, Layer::Kernel, limit, None, &|_| {}) {
            Guess::Fitting(Argument::Waits(found)) => Some(found),
            Guess::Fitting(Argument::Kernel(_)) | Guess::Found(Argument::Kernel(_)) => {
                counted += 1;
                None
            }
            _ => None,
        }
    });
    (each.collect(), counted)
}

fn accepted(protocol: &Protocol, certificate: &Events) -> bool {
    let Ok(obligations) = obligations(protocol, certificate) else {
        return false;
    };
    let known = Known::default();
    let limit = Duration::from_secs(1);
    let mut all = obligations.iter();
    all.all(|obligation| known.discharge(obligation, limit) == Answer::Discharged)
}

/// Certificates of protocols that work on edits of all of these: what is accepted works.
fn transplanted(kernels: &Kernels, seeds: u64, count: u64) {
    let (certificates, counted) = certificates(kernels);
    let all = (certificates.len(), counted);
    assert!(all.0 >= 4 && all.0 + all.1 >= 5, "{all:?}");
    let first = seeds + number("WARPLOCK_SEED", 0);
    let (mut pairs, mut taken) = (0, 0);
    for seed in first..first + count * number("WARPLOCK_CASES", 1) {
        let Some(source) = generate(kernels, seed) else {
            continue;
        };
        let protocol = text::load(source.as_bytes()).unwrap();
        let mut works = None;
        for certificate in &certificates {
            pairs += 1;
            if accepted(&protocol, certificate) {
                taken += 1;
                let works = works.get_or_insert_with(|| wrong(&protocol, &[]).0);
                assert_eq!(*works, None, "seed {seed}\n{source}\n{certificate:?}");
            }
        }
    }
    log(&format!("seeds {first}..: {pairs} pairs, {taken} accepted"));
    assert!(taken >= 1 && taken * 4 < pairs, "{taken} of {pairs}");
}

#[test]
fn certificates_of_turns_are_accepted_only_where_nothing_goes_wrong() {
    transplanted(&turn_templates::KERNELS, 28_000_000, 24);
}

#[test]
fn certificates_of_supplies_are_accepted_only_where_nothing_goes_wrong() {
    transplanted(&credit_templates::KERNELS, 29_000_000, 40);
}
