//! Whether the multiplications of a kernel may be written as reads that are done at once.
//!
//! `wgmma.mma_async` reads its operands until the warpgroup has waited for the group of the
//! instruction. Suppose that no warp of the warpgroup writes to shared memory or signals others
//! between the instruction and this wait. Then no other thread can notice how long the reads last,
//! and the text has one read per warp at the place of the instruction:
//!
//! - What is ordered before the reads of all four warps is ordered before the multiplication, which
//!   is one operation of all four.
//! - What another thread does after the read of one warp comes after a later signal of this warp,
//!   and so after its wait. By then the multiplication is over, for all four warps.
//!
//! Otherwise, the reads of each warp last in the text until its own wait for their group. This may
//! be longer than the multiplication takes: one of the four warps may know that it is over before
//! the others have waited. So no counterexample is reported then.

use super::slice::is_event;
use super::warpgroups::after;
use super::warpgroups::flights;
use crate::ir::GroupKind;
use crate::ir::Kernel;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::ir::Touch;
use crate::recover::tree::Obstacle;

/// Whether all multiplications are over before another thread can notice how long they take.
/// `None` if there are none.
pub fn is_unnoticed(kernel: &Kernel) -> Result<Option<bool>, Obstacle> {
    let multiplies = |operation: &Operation| {
        matches!(
            operation.kind,
            OperationKind::Synchronization(Synchronization::Multiply { .. })
        )
    };
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    if !operations.any(multiplies) {
        return Ok(None);
    }
    for (block, before) in kernel.blocks.iter().zip(flights(kernel)?) {
        let mut flight = before;
        for operation in &block.operations {
            if flight.is_under_way() && tells(operation) {
                return Ok(Some(false));
            }
            after(&mut flight, operation)?;
        }
        if flight.is_under_way() && matches!(block.end, Terminator::Exit) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// The kernel with multiplications that read at once, and without their groups.
///
/// `warpgroups` may have added waits at mbarriers to the kernel before, by which a warp knows
/// that all four have committed the group of a multiplication. These waits stay. In the given kernel
/// `wgmma.wait_group` stands behind them, so a warp goes on from there when the multiplication is over.
pub fn read_at_once(kernel: &Kernel) -> Kernel {
    let mut changed = kernel.clone();
    for block in &mut changed.blocks {
        block.operations.retain(|operation| !is_group(operation));
        for operation in &mut block.operations {
            if let OperationKind::Synchronization(Synchronization::Multiply { at_once, .. }) =
                &mut operation.kind
            {
                *at_once = true;
            }
        }
    }
    changed
}

fn is_group(operation: &Operation) -> bool {
    matches!(
        operation.kind,
        OperationKind::Synchronization(
            Synchronization::CommitGroup(GroupKind::Multiply)
                | Synchronization::WaitGroup {
                    kind: GroupKind::Multiply,
                    ..
                }
        )
    )
}

/// Whether an operation may signal others, or write to shared memory.
fn tells(operation: &Operation) -> bool {
    if let OperationKind::Synchronization(
        Synchronization::MbarrierTest { .. } | Synchronization::MbarrierWait { .. },
    ) = operation.kind
    {
        return false;
    }
    let reads = match operation.kind.touch() {
        None => true,
        Some(Touch::Bytes { writes, .. } | Touch::Rows { writes, .. }) => !writes,
        Some(Touch::Matrices { .. }) => true,
        Some(Touch::Commit(kind) | Touch::Wait { kind, .. }) => kind == GroupKind::Multiply,
        Some(_) => false,
    };
    !reads || is_event(operation)
}
