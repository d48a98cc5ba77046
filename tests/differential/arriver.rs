//! Random protocols in which the last to arrive does something for all: whatever the arriver rule proves is searched exhaustively at
//! small parameter values, where nothing may hang or be undefined.
//!
//! The protocols are those of `support/arriver_templates.rs` with edits. Seeds count from 11,000,000.

use warplock::proof::Layer;

use super::order::never_wrong;
use crate::support::arriver_templates::KERNELS;
use crate::support::edited::generate;

/// Cases of one run.
const CASES: u64 = 60;

#[test]
fn what_the_arriver_rule_proves_never_goes_wrong() {
    never_wrong(
        Layer::Arriver,
        &|seed| generate(&KERNELS, seed),
        11_000_000,
        CASES,
    );
}
