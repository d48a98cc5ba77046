//! Bulk copies to a place in shared memory that is no multiple of 16 bytes: undefined, so nothing can be said of a kernel
//! that has one.
//!
//! ```text
//! .shared .align 128 .b8 tile[4096];
//! cp.async.bulk... [tile + 8], ...    refused
//! cp.async.bulk... [tile + 8 * i]     not known, so not refused
//! ```
//!
//! Source: PTX ISA, "cp.async.bulk" and "cp.async.bulk.tensor".

use crate::ir::Kernel;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::addresses::Addresses;
use crate::recover::tree::Obstacle;
use crate::recover::tree::misused;

/// The places of bulk copies are multiples of this many bytes.
const UNIT: u32 = 16;

/// Refuses bulk copies that certainly write to no multiple of 16 bytes.
pub fn refuse_misplaced_copies(kernel: &Kernel) -> Result<(), Obstacle> {
    let addresses = Addresses::new(kernel);
    for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
        let OperationKind::Synchronization(Synchronization::BulkCopy {
            destination,
            destination_space,
            ..
        }) = &operation.kind
        else {
            continue;
        };
        let misses = |(variable, offset): (VariableId, u64)| {
            let variable = &kernel.variables[variable.0 as usize];
            variable.space.may_be_shared()
                && variable.alignment.is_multiple_of(UNIT)
                && !offset.is_multiple_of(u64::from(UNIT))
        };
        let mut places = addresses.places(*destination).into_iter().flatten();
        if destination_space.may_be_shared() && places.any(misses) {
            return misused(
                "bulk copies write to multiples of 16 bytes, and this one does not: this is undefined",
                &operation.location,
            );
        }
    }
    Ok(())
}
