//! Verdicts about kernels that skip a wait where an earlier test of the mbarrier has passed.
//!
//! The recovered protocol has the wait in any case. It says so by an assumption in its head, which begins with
//! [`in_turn::OUT_OF_TURN`] or [`in_turn::OVERTAKEN`]. What is decided of the protocol is decided of its kernel only where no test that spares a
//! wait is out of date: see [`in_turn`] for proofs, and [`spared`] for counterexamples. So the assumption is an obligation, and
//! everything in this room that gives a verdict discharges it here, whoever asks. Where it cannot be discharged, nothing is known.
//!
//! A run of the protocol that violates something else than that everybody gets on is one of the kernel up to there: whoever may be spared a wait is
//! slow.

use std::time::Duration;

use crate::certificate::in_turn;
use crate::hunt::spared;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::step::Action;
use crate::text::Narrowing;

use super::deadlock::Settings;
use super::decision::Decision;
use super::decision::Verdict;
use super::hazard;
use super::shared::Shared;

/// Why nothing is known of the kernel.
pub(super) const AMONG: &str = "a test that lets a warp skip a wait may be out of date: between the test and that wait, the warp may wait at the same mbarrier for another phase, or the mbarrier may be initialised";
pub(super) const NOT_IN_TURN: &str = "a test that lets a warp skip a wait may be out of date: no proof was found that the waits of each warp at an mbarrier are for consecutive phases";
pub const SPARED: &str = "the recovered protocol has a counterexample, but the kernel may not have it: somebody stands at a wait that the kernel might have skipped because of an earlier test";

/// What is missing for the runs of a protocol to be those of its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// That waits are in turn.
    Turn,
    /// Also that the test comes behind the wait before, which recovery has not shown.
    All,
}

fn missing(protocol: &Protocol) -> Option<Missing> {
    let assumes = |what: &str| protocol.assumed().any(|one| one.starts_with(what));
    match (assumes(in_turn::OVERTAKEN), assumes(in_turn::OUT_OF_TURN)) {
        (true, _) => Some(Missing::All),
        (false, true) => Some(Missing::Turn),
        (false, false) => None,
    }
}

/// Whether a violation of a property may be none of the kernel, though its run is one up to there: the kernel may have skipped the wait
/// that it is about.
pub fn may_be_spared(protocol: &Protocol, property: Property) -> bool {
    missing(protocol).is_some() && matches!(property, Property::EarlyPass | Property::LappedWait)
}

/// Why runs of a protocol may be none of its kernel, if no proof shows that they are. `narrowing` is what has already been applied.
pub fn open(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &Settings<'_>,
    shared: &Shared,
) -> Option<&'static str> {
    match missing(protocol)? {
        Missing::All => Some(AMONG),
        Missing::Turn => {
            let time = settings.timeout;
            (!are_in_turn(protocol, narrowing, time, settings, shared)).then_some(NOT_IN_TURN)
        }
    }
}

/// Whether a run to a stuck state is one of the kernel, whatever is known of its tests.
pub fn hangs(protocol: &Protocol, input: &Input, run: &[Action]) -> bool {
    match missing(protocol) {
        None => true,
        Some(Missing::Turn) => spared::in_run(protocol, input, run) == Some(false),
        Some(Missing::All) => false,
    }
}

/// Takes back what is not known of the kernel.
pub(super) fn doubt(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &Settings<'_>,
    shared: &Shared,
    decision: &mut Decision,
) {
    let Some(missing) = missing(protocol) else {
        return;
    };
    let left = settings.timeout.saturating_sub(decision.elapsed);
    let in_turn =
        || missing == Missing::Turn && are_in_turn(protocol, narrowing, left, settings, shared);
    let not_shown = match missing {
        Missing::All => AMONG,
        Missing::Turn => NOT_IN_TURN,
    };
    let reason = match &decision.verdict {
        Verdict::Unknown { .. } => return,
        Verdict::Proved(proof) => {
            let argument = &proof.certificate.argument;
            let shows = missing == Missing::Turn && in_turn::is_in_turn(protocol, argument);
            (!shows && !in_turn()).then_some(not_shown)
        }
        Verdict::Bounded { within, .. } => {
            let open = !in_turn();
            if open {
                let note = format!("the recovered protocol has no counterexample {within}");
                decision.notes.push(note);
            }
            open.then_some(not_shown)
        }
        Verdict::Refuted(run) => {
            let of_kernel = match decision.property {
                Property::Deadlock => hangs(protocol, &run.input, &run.schedule),
                property => !may_be_spared(protocol, property),
            };
            (!of_kernel).then_some(SPARED)
        }
    };
    match reason {
        None => decision.assumptions.retain(|one| {
            !one.starts_with(in_turn::OUT_OF_TURN) && !one.starts_with(in_turn::OVERTAKEN)
        }),
        Some(reason) => {
            decision.verdict = Verdict::Unknown {
                reason: reason.to_owned(),
                span: None,
            };
        }
    }
}

/// Whether a proof shows in so much time that the waits of a protocol are in turn.
fn are_in_turn(
    protocol: &Protocol,
    narrowing: &Narrowing,
    time: Duration,
    settings: &Settings<'_>,
    shared: &Shared,
) -> bool {
    if time.is_zero() || !hazard::applicable(protocol).contains(&Property::EarlyPass) {
        return false;
    }
    let settings = Settings {
        timeout: time,
        objectives: None,
        ..settings.clone()
    };
    let proof = hazard::proof(protocol, narrowing, Property::EarlyPass, &settings, shared);
    proof.is_some_and(|proof| in_turn::is_in_turn(protocol, &proof.certificate.argument))
}
