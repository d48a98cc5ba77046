//! Stores of data over an mbarrier: undefined, so nothing can be said of a kernel that has one.
//!
//! ```text
//! st.shared [bar], 0          a fixed place: it lies among the bytes of an mbarrier
//! st.shared [bar + 4 * i], 0  a computed place of a variable that holds mbarriers and nothing else
//! ```
//!
//! That stores at other computed places do not hit an mbarrier is taken for granted. An mbarrier that the kernel ends by
//! `mbarrier.inval` is left out, as its place may be used for data then.
//!
//! Source: PTX ISA, "mbarrier": only mbarrier operations are defined on an mbarrier object.

use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::OperationKind;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::addresses::Addresses;
use crate::recover::slice::written_place;
use crate::recover::tree::Obstacle;

/// The bytes of an mbarrier.
const SIZE: u64 = 8;

const OVERWRITES: &str = "this writes data over an mbarrier, which is undefined";

/// Refuses stores over mbarriers.
pub fn refuse_stores(kernel: &Kernel) -> Result<(), Obstacle> {
    match store_over_mbarrier(kernel) {
        None => Ok(()),
        Some(location) => Err(Obstacle {
            reason: OVERWRITES.to_owned(),
            location,
        }),
    }
}

fn store_over_mbarrier(kernel: &Kernel) -> Option<Location> {
    let addresses = Addresses::new(kernel);
    let operations = || kernel.blocks.iter().flat_map(|block| &block.operations);
    let mut mbarriers: BTreeSet<(VariableId, u64)> = BTreeSet::new();
    let mut ended = BTreeSet::new();
    for operation in operations() {
        if let OperationKind::Synchronization(synchronization) = &operation.kind {
            match synchronization {
                Synchronization::MbarrierInit { address, .. } => {
                    mbarriers.extend(addresses.place(*address));
                }
                // Which one ends is not asked where that is computed.
                Synchronization::MbarrierInvalidate { address } => {
                    ended.insert(addresses.base(*address)?);
                }
                _ => {}
            }
        }
    }
    mbarriers.retain(|(variable, _)| !ended.contains(variable));
    let full = |variable: &VariableId| {
        let size = kernel.variables.get(variable.0 as usize)?.size?;
        let all = mbarriers.iter().filter(|(of, _)| of == variable);
        let held = u64::try_from(all.count()).ok()?.checked_mul(SIZE)?;
        Some(held >= size)
    };
    operations().find_map(|operation| {
        let address = written_place(operation)?;
        let bytes = match &operation.kind {
            OperationKind::Store { values, width, .. } => {
                let count = u64::try_from(values.len()).ok()?;
                u64::from(width.div_ceil(8)).checked_mul(count)?
            }
            OperationKind::Atomic { width, .. } => u64::from(width.div_ceil(8)),
            _ => return None,
        };
        let hits = match addresses.place(address) {
            Some((variable, offset)) => mbarriers.iter().any(|(of, place)| {
                *of == variable
                    && *place < offset.saturating_add(bytes)
                    && offset < place.saturating_add(SIZE)
            }),
            None => addresses
                .base(address)
                .is_some_and(|variable| full(&variable).unwrap_or(false)),
        };
        hits.then(|| operation.location.clone())
    })
}
