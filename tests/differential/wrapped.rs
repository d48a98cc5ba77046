//! Random protocols of turns whose last one sets the semaphore back: whatever is proved of their normal form is searched exhaustively at
//! small parameter values, where nothing may hang or be undefined.
//!
//! The protocols are those of `support/wrapped_templates.rs` with edits. Seeds count from 14,000,000.

use std::time::Duration;

use warplock::proof;
use warplock::proof::Guess;
use warplock::proof::Layer;
use warplock::text;

use super::order::never_wrong;
use crate::support::edited::generate;
use crate::support::wrapped_templates::KERNELS;

/// Cases of one run.
const CASES: u64 = 60;

#[test]
fn what_is_proved_of_turns_that_are_set_back_never_goes_wrong() {
    never_wrong(
        Layer::Ticket,
        &|seed| generate(&KERNELS, seed),
        14_000_000,
        CASES,
    );
}

/// What is edited works.
#[test]
fn the_ticket_rule_proves_all_its_templates() {
    for template in KERNELS.templates {
        let source = format!("protocol plain\n{template}");
        let protocol = text::load(source.as_bytes()).unwrap();
        // There is time for this, however busy the machine.
        let limit = Duration::from_secs(120);
        let found = proof::search(&protocol, Layer::Ticket, limit, None, &|_| {});
        assert!(matches!(found, Guess::Found(_)), "{found:?}\n{source}");
    }
}
