//! Random protocols that claim something of their states: whatever the cut rule proves is searched
//! exhaustively at small parameter values, where no claim may fail.
//!
//! The protocols are those of `support/edited.rs` with claims. Seeds count from 0. For longer runs see
//! `support/campaign.rs`.

use crate::support::claim_templates;
use crate::support::copied_claim_templates;
use crate::support::cut_rule;
use warplock::certificate::cut::artefact::Shows;
use warplock::proof::Layer;
use warplock::protocol::Property;
use warplock::text;

use crate::support::never_violated::never_violated;

#[test]
fn what_is_proved_always_holds() {
    let property = (Property::Assertion, Shows::Claims);
    never_violated(&claim_templates::KERNELS, property, 100, 6);
}

#[test]
fn what_is_proved_of_copies_always_holds() {
    let property = (Property::Assertion, Shows::Claims);
    never_violated(&copied_claim_templates::KERNELS, property, 14, 8);
}

/// A reset that breaks a claim at one value of a parameter, far from the small ones.
const RESETS: [&str; 3] = [
    "protocol own_claim
    param K in 0..
    semaphore s = 0
    semaphore go = 0
    role worker { go += 1  s += 1  s += 1 }
    role leader {
        wait s == 2
        s = if K == 900 then 0 else 2
        assert s >= 2
    }",
    "protocol claim_of_another
    param K in 0..
    semaphore s = 0
    semaphore go = 0
    barrier b { arrivals: 2 }
    role worker { s += 1  s += 1  sync b  assert s == 2 }
    role leader { wait s == 2  s = if K == 900 then 0 else 2  sync b }",
    "protocol invariant_of_all
    param N in 1..
    semaphore s = 0
    invariant s <= 60
    role worker[n in 0..N] { if N <= 20 { s += 1 } }
    role leader { if N <= 20 { wait s == N  s = if N == 20 then 61 else 0 } }",
];

#[test]
fn nothing_is_claimed_of_a_counter_that_is_reset() {
    for source in RESETS {
        let protocol = text::load(source.as_bytes()).unwrap_or_else(|e| panic!("{e:?}"));
        let proved = cut_rule::proved_by(
            Layer::Cuts(Shows::Claims),
            Property::Assertion,
            source,
            &protocol,
        );
        assert!(!proved, "{source}");
    }
}
