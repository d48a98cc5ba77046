//! What a verdict does not look at: grids before this one, and runs that abort.
//!
//! `griddepcontrol.wait` returns without the help of this grid. Which reads of global memory have to come behind it depends on what
//! the preceding grids write, which is not known.
//!
//! `trap` ends the whole grid with an error. So does an assertion that fails. What comes before it is not asked about.
//!
//! Source: PTX ISA, "griddepcontrol", "trap".

use crate::cfg;
use crate::ir::BlockId;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::Terminator;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const AWAITED: &str = "global memory that preceding grids write is read only after `griddepcontrol.wait` (not checked)";
const ABORTS: &str = "no thread reaches a `trap`, and no assertion fails";

/// What is taken for granted of this. Refuses kernels that abort whatever they do.
pub fn outside(kernel: &Kernel) -> Result<impl Iterator<Item = &'static str>, Obstacle> {
    let edges = cfg::Graph::new(kernel);
    if edges.traps(BlockId(0)) {
        return refuse(
            "the kernel always aborts: every path that ends, ends in a `trap` or a failed assertion",
            &Location::default(),
        );
    }
    let mut blocks = (0..).map(BlockId).zip(&kernel.blocks);
    let aborts =
        blocks.any(|(at, block)| block.end == Terminator::Trap && edges.position(at).is_some());
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let awaits = operations.any(|operation| {
        matches!(
            operation.kind,
            OperationKind::Synchronization(Synchronization::GridDependencyWait)
        )
    });
    let said = [awaits.then_some(AWAITED), aborts.then_some(ABORTS)];
    Ok(said.into_iter().flatten())
}
