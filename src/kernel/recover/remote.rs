//! Arrivals at mbarriers of other CTAs.
//!
//! The protocol takes an arrival for done when its instruction is. On an H200 an arrival at another CTA is under way for a while.
//! If two CTAs arrive at each other's mbarrier, and each then waits at its own one for the phase before, as if nothing had come,
//! both waits pass. In the protocol the later one does not. With `fence.acq_rel.cluster` or `fence.sc.cluster` in between it does
//! not pass on the H200 either. (Measured: docs/crosschecks/hardware.md.)
//!
//! A wait for what has to come is not concerned: that an arrival is seen later is as if it came later. So this is said, and
//! nothing is refused.

use crate::ir::Kernel;
use crate::ir::OperationKind;
use crate::ir::Synchronization;

const AT_ONCE: &str = "an arrival at another CTA's mbarrier takes effect at once: no later wait passes only because the arrival is still under way";

/// What is taken for granted, if there are such arrivals.
pub fn assumption(kernel: &Kernel) -> Option<&'static str> {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    operations
        .any(|operation| {
            matches!(
                operation.kind,
                OperationKind::Synchronization(Synchronization::MbarrierArrive {
                    cluster: true,
                    ..
                })
            )
        })
        .then_some(AT_ONCE)
}
