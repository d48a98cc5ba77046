//! Arrivals at mbarriers of other CTAs.
//!
//! The protocol takes an arrival for done when its instruction is. On an H200 an arrival at another CTA is under way for a while.
//! If two CTAs arrive at each other's mbarrier, and each then waits at its own one for the phase before, as if nothing had come,
//! both waits pass. In the protocol the later one does not. With `fence.acq_rel.cluster` or `fence.sc.cluster` in between it does
//! not pass on the H200 either. (Measured: docs/crosschecks/hardware.md.)
//!
//! A proof that all waits are in step does not need that such an arrival is seen at once, only that it is seen by whoever has
//! been told of something that comes behind it: `src/certificate/in_step.rs` of the checker has the argument. So both are said, in
//! words that let the former be left out.
//!
//! Waits for states of arrivals are written as waits for numbers, which takes arrivals for done where they stand. Then nothing
//! is left out.

use crate::ir::Kernel;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Token;

const AT_ONCE: &str = "an arrival at another CTA's mbarrier takes effect at once: no later wait passes only because the arrival is still under way";

/// It begins with the words by which a proof that waits are in step knows that it does not rest on this.
const OUT_OF_STEP: &str =
    "where waits may be out of step, an arrival at another CTA's mbarrier takes effect at once";

/// Lanes of a warp are one here, and waits have the scope of a CTA unless they say more. So PTX does not promise this.
const BEHIND: &str = "an arrival at another CTA's mbarrier is seen by whoever has waited for what its warp does behind it";

/// What is taken for granted, if there are such arrivals.
pub fn assumptions(kernel: &Kernel) -> &'static [&'static str] {
    let any = |found: &dyn Fn(&Synchronization) -> bool| {
        let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
        operations.any(|operation| {
            matches!(&operation.kind, OperationKind::Synchronization(one) if found(one))
        })
    };
    let remote = |one: &Synchronization| {
        matches!(one, Synchronization::MbarrierArrive { cluster: true, .. })
    };
    let of_state = |one: &Synchronization| {
        matches!(
            one,
            Synchronization::MbarrierTest {
                token: Token::State(_),
                ..
            } | Synchronization::MbarrierWait {
                token: Token::State(_),
                ..
            }
        )
    };
    match (any(&remote), any(&of_state)) {
        (false, _) => &[],
        (true, true) => &[AT_ONCE],
        (true, false) => &[BEHIND, OUT_OF_STEP],
    }
}
