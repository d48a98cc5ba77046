//! Decides which proofs also hold if arrivals at other CTAs take time.
//!
//! In the semantics, an arrival is done when its instruction is. On hardware, an arrival at another CTA lands later.
//! A recovered protocol states this by assumptions in its head, one of which begins with [`OUT_OF_STEP`]. A proof
//! that everything is in step does not rest on this assumption. It only needs the following: an arrival lands at an
//! mbarrier before anything passes or lands there that comes after it *causally*, by program order and by waits that
//! have passed.
//!
//! # The condition
//!
//! The protocol has only mbarriers, named barriers and split-phase barriers, and no grid. For runs without delays,
//! the argument proves three things: none gets stuck; each arrival and delivery is in the same generation in all
//! runs; and each wait passes after the same number of completions. These are `deadlock`, `early_completion` and
//! `early_pass`. In addition, the argument has to prove `lapped_wait`, `over_arrival` and `tx_mismatch`.
//!
//! # Why it suffices
//!
//! Take a run with delays. Consider the first event in it that is out of step: an arrival or bytes that land in
//! another generation than in runs without delays, or a wait that passes after another number of completions. If a
//! wait has passed before, it comes causally after everything that belongs to the generations that were complete for
//! it.
//!
//! Let `P` be the set of events that come causally before this event. If a wait is in `P`, the events of its
//! generations are in `P`. So `P`, in the order of the run, is a run without delays, in which bytes that nobody has
//! waited for stay in flight. All arrivals of `P` at the object of the event have landed before it.
//!
//! - *A wait passes.* All generations that are complete at its object are in `P`, and all that are complete in `P`
//!   have landed. So equally many generations are complete in the run without delays, and there the wait passes after
//!   the same number.
//! - *Something lands too early.* In the run without delays, the events of `P` complete the generations before its
//!   own. All of these events have landed. So these generations are complete here, too.
//! - *Something lands too late.* Its own generation is complete without it. The events that completed this generation
//!   do not come causally after it, because otherwise it would have landed. So there is a run without delays that
//!   first does these events and all that they need, and then `P`. In this run, it lands in a later generation.
//!
//! Each case is a contradiction. So everything is in step. Now move each arrival to the place of its instruction. A
//! wait then finds at least as many completions as it passed after, because more arrivals have landed. Suppose that
//! it finds more. The run without delays can be continued from there, because none gets stuck, and in its
//! continuation the wait passes after more completions. This is a contradiction. So the result is a run without
//! delays. When nothing is in flight any more, both runs are in the same state, and one is stuck iff the other is.

use super::argument::Argument;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// The beginning of an assumption on which such proofs do not rest.
pub const OUT_OF_STEP: &str = "where waits may be out of step, ";

const IN_STEP: [Property; 6] = [
    Property::Deadlock,
    Property::EarlyCompletion,
    Property::EarlyPass,
    Property::LappedWait,
    Property::OverArrival,
    Property::TxMismatch,
];

/// Whether a proof of this property by this argument also holds if arrivals take time.
pub fn is_in_step(protocol: &Protocol, property: Property, argument: &Argument) -> bool {
    let counted = |kind: &ObjectKind| {
        matches!(
            kind,
            ObjectKind::Mbarrier { .. } | ObjectKind::Named | ObjectKind::Barrier { .. }
        )
    };
    // A search for one property says nothing about the others.
    let searched = matches!(argument, Argument::Exhaustive(_));
    IN_STEP.contains(&property)
        && !searched
        && protocol.objects.iter().all(|object| counted(&object.kind))
        && protocol.roles.iter().all(|role| role.launch.is_none())
        && IN_STEP.iter().all(|own| argument.proves(protocol, *own))
}
