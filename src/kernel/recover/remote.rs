//! Assumptions about arrivals at mbarriers of other CTAs.
//!
//! In the protocol, an arrival takes effect when its instruction is executed. On an H200, an
//! arrival at another CTA takes a while. For example, two CTAs arrive at each other's mbarrier, and
//! each then waits at its own for the phase before, as if nothing had arrived. On the H200 both
//! waits pass. In the protocol the later one does not. With `fence.acq_rel.cluster` or
//! `fence.sc.cluster` in between, it does not pass on the H200 either. (Measured:
//! docs/crosschecks/hardware.md.)
//!
//! So it is assumed that such an arrival takes effect at once. A proof that all waits are in step
//! needs less: an arrival has to be visible only to a thread that has waited for something behind
//! it. `src/certificate/in_step.rs` of the checker has the argument. Both assumptions are printed,
//! in words by which such a proof can drop the stronger one. If waits for states of arrivals have
//! become waits for numbers, these rely on the stronger one, and it is never dropped.

use crate::ir::Kernel;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Token;

const AT_ONCE: &str = "an arrival at another CTA's mbarrier takes effect at once: no later wait passes only because the arrival is still under way";

/// The stronger assumption. A proof that waits are in step drops it, and recognises it by its first
/// words.
const OUT_OF_STEP: &str =
    "where waits may be out of step, an arrival at another CTA's mbarrier takes effect at once";

/// The weaker assumption. PTX does not guarantee it: the lanes of a warp are one member here, and
/// waits have the scope of a CTA unless they say more.
const BEHIND: &str = "an arrival at another CTA's mbarrier is seen by whoever has waited for what its warp does behind it";

/// The assumptions, if the kernel has such arrivals.
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
