//! Proofs that hold also if arrivals at other CTAs take time.
//!
//! The semantics take an arrival for done when its instruction is. On hardware an arrival at another CTA lands later. Kernels
//! say so by assumptions in their head, one of which begins with [`OUT_OF_STEP`]. A proof that everything is in step does not rest on
//! that one, but only on this: an arrival lands at an mbarrier before anything passes or lands there that comes after it *causally*,
//! by the order of programs and by waits that have passed.
//!
//! # The condition
//!
//! The protocol has mbarriers, named and split-phase barriers only, and no grid. The argument proves, for runs without delays,
//! that none gets stuck, that each arrival and delivery is in the same generation in all of them, and that each wait passes after the same
//! number of completions: `deadlock`, `early_completion`, `early_pass`, and with these `lapped_wait`, `over_arrival` and `tx_mismatch`.
//!
//! # Why it suffices
//!
//! Take a run with delays, and in it the first event that is out of step: an arrival or bytes that land in another generation than
//! in runs without delays, or a wait that passes after another number of completions. A wait that has passed before comes causally
//! after all that belongs to the generations that were complete for it.
//!
//! Let `P` be what comes causally before the event. Each wait in `P` has its generations in `P`. So `P`, in the order of the run, is a
//! run without delays, in which bytes that nobody has waited for stay in flight. All arrivals of `P` at the object of the event have
//! landed before it.
//!
//! - *A wait passes.* What is complete there is in `P`, and what is complete in `P` has landed. So as many generations are complete in the
//!   run without delays, and there the wait passes after the same number.
//! - *Something lands too early.* In the run without delays the generations before its own are complete, by what `P` did. All of that has
//!   landed. So they are complete here, too.
//! - *Something lands too late.* Its own generation is complete without it. What completed it does not come causally
//!   after it, or it would have landed. So there is a run without delays that does this and what it needs first, and then `P`. In it, what
//!   lands is in a later generation.
//!
//! Each time there is a contradiction. So everything is in step. Now put each arrival where its instruction is. A wait then finds at
//! least as many completions as it passed after, since more has landed. If it finds more, then it passes after more in a run without delays that goes on
//! from there, which is none that gets stuck: a contradiction. So this is a run without delays. When nothing is in flight any more, both are in the same
//! state, and one is stuck if the other is.

use super::argument::Argument;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;

/// How an assumption begins on which such proofs do not rest.
pub const OUT_OF_STEP: &str = "where waits may be out of step, ";

const IN_STEP: [Property; 6] = [
    Property::Deadlock,
    Property::EarlyCompletion,
    Property::EarlyPass,
    Property::LappedWait,
    Property::OverArrival,
    Property::TxMismatch,
];

/// Whether a proof of this property by this argument holds also if arrivals take time.
pub fn is_in_step(protocol: &Protocol, property: Property, argument: &Argument) -> bool {
    let counted = |kind: &ObjectKind| {
        matches!(
            kind,
            ObjectKind::Mbarrier { .. } | ObjectKind::Named | ObjectKind::Barrier { .. }
        )
    };
    // A search for one property says nothing of the others.
    let searched = matches!(argument, Argument::Exhaustive(_));
    IN_STEP.contains(&property)
        && !searched
        && protocol.objects.iter().all(|object| counted(&object.kind))
        && protocol.roles.iter().all(|role| role.launch.is_none())
        && IN_STEP.iter().all(|own| argument.proves(protocol, *own))
}
