//! The kernel is asked for a proof before the rules are, with so much work and no more.
//!
//! What it accepts is checked by the smallest part of the program. For a protocol that it does not know, it costs little to find
//! that out. Where its invariants are hard for the solver, the rules are quicker. Both depend on the protocol alone and not on
//! the machine: work is counted, and time is not. So the same protocol is checked by the same code everywhere.

use std::time::Duration;
use std::time::Instant;

use crate::certificate::discharge::Work;
use crate::deadline;
use crate::proof;
use crate::proof::Guess;
use crate::proof::Layer;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text::Narrowing;

use super::checked;
use super::checked::Checked;
use super::deadlock::Settings;
use super::decision::Proof;
use super::shared::Asked;
use super::shared::Shared;

/// What the solver may do before the rules are asked.
const WORK: Work = Work {
    each: 200_000,
    all: 1_000_000,
};

/// Hypotheses of all obligations together, at most. A protocol of more is left to the rules.
const MAX_HYPOTHESES: usize = 50_000;

/// Time for the kernel where somebody asks for it, and which part of what is left it may take in any case, as a divisor.
const TIME: Duration = Duration::from_secs(5);
const SHARE: u32 = 4;

/// A proof that the kernel accepts. Why there is none is not said: the rules that follow know more, and say what is missing.
pub(super) fn prove(
    protocol: &Protocol,
    narrowing: &Narrowing,
    property: Property,
    time: Duration,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Option<(Box<Proof>, &'static str)> {
    proof::kernel_for(property)?;
    (settings.tell)("looking for a proof by the kernel");
    let time = match settings.kernel {
        true => (time / SHARE).min(TIME),
        false => time / SHARE,
    };
    let deadline = deadline::after(time);
    deadline::until(deadline, || {
        let asked = shared.kernel(protocol, || ask(protocol, time, settings, shared))?;
        if !asked.soon && !settings.kernel {
            return None;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let known = (left, &shared.known);
        let argument = asked.argument;
        if !argument.proves(protocol, property) {
            return None;
        }
        match checked::check(
            protocol,
            narrowing,
            property,
            argument,
            known,
            settings.tell,
        ) {
            Checked::Proved { proof, engine } => Some((proof, engine)),
            Checked::Open { .. } => None,
        }
    })
}

fn ask(
    protocol: &Protocol,
    time: Duration,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Option<Asked> {
    let (cancel, tell) = (Some(settings.cancel), settings.tell);
    let found = proof::search(protocol, Layer::Kernel, time, cancel, tell);
    let (Guess::Found(argument) | Guess::Fitting(argument)) = found else {
        return None;
    };
    let obligations = argument.obligations(protocol).ok()?;
    let size: usize = obligations.iter().map(|each| each.hypotheses.len()).sum();
    let soon = size <= MAX_HYPOTHESES && shared.known.discharge_within(&obligations, WORK);
    Some(Asked { argument, soon })
}
