//! Searches for proofs by the separation rule. The CTAs of the protocol take turns by one member
//! each. The two parts of the protocol are proved separately.

use std::time::Duration;

use super::Guess;
use super::guess;
use crate::certificate::argument::Argument;
use crate::certificate::separation;
use crate::certificate::separation::Separation;
use crate::protocol::Protocol;

/// Looks for an argument for either part.
pub(super) fn argue(protocol: &Protocol, limit: Duration, tell: &(dyn Fn(&str) + Sync)) -> Guess {
    let parts = match separation::parts(protocol) {
        Ok(parts) => parts,
        Err(refused) => return Guess::nothing(super::uncovered_in(protocol)(refused)),
    };
    let mut found = Vec::new();
    // The own part of the CTAs is the larger one, so it may use the rest of the time.
    for (part, what) in [
        (&parts.shared, "what CTAs share"),
        (&parts.own, "what each CTA has of its own"),
    ] {
        tell(&format!("looking at {what} alone"));
        match guess(part, limit / 2, tell) {
            Guess::Found(argument) | Guess::Fitting(argument) => found.push(Box::new(argument)),
            Guess::Nothing { reason, .. } => {
                return Guess::nothing(format!("of {what} alone: {reason}"));
            }
        }
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(shared), Some(own)) => {
            Guess::Fitting(Argument::Separation(Separation { shared, own }))
        }
        _ => Guess::nothing("no proof rule covers such a protocol"),
    }
}
