//! Searches for proofs by the arriver rule. The search splits off the work of the member that arrives last, and
//! proves the resulting protocol.

use std::time::Duration;
use std::time::Instant;

use super::Guess;
use super::Layer;
use super::layers;
use super::search;
use crate::certificate::argument::Argument;
use crate::certificate::arriver;
use crate::certificate::arriver::Arriver;
use crate::deadline;
use crate::protocol::Protocol;

/// Looks for an argument for the protocol after this split.
pub(super) fn argue(protocol: &Protocol, limit: Duration, tell: &(dyn Fn(&str) + Sync)) -> Guess {
    let apart = match arriver::apart(protocol) {
        Ok(apart) => apart,
        Err(refused) => return Guess::nothing(super::uncovered_in(protocol)(refused)),
    };
    tell("looking at what the last to arrive does apart");
    let deadline = deadline::after(limit);
    let mut layers = layers(&apart);
    // These rules rest on an order in which CTAs start. The credit rule covers counters, because counting is a kind
    // of addition.
    layers.retain(|layer| !matches!(layer, Layer::Ticket | Layer::Turns));
    layers.sort_by_key(|layer| *layer != Layer::Credit);
    let mut reason = "no proof rule covers such a protocol".to_owned();
    for layer in layers {
        let left = deadline.saturating_duration_since(Instant::now());
        match search(&apart, layer, left, None, tell) {
            Guess::Found(argument) | Guess::Fitting(argument) => {
                let argument = Box::new(argument);
                return Guess::Fitting(Argument::Arriver(Arriver { argument }));
            }
            // A failure of the split protocol need not be one of the original protocol.
            Guess::Nothing { reason: why, .. } if layer == Layer::Credit => reason = why,
            Guess::Nothing { .. } => {}
        }
    }
    Guess::nothing(format!(
        "with a role of its own for what the last to arrive does: {reason}"
    ))
}
