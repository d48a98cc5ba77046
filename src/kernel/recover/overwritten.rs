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

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::recover::slice::is_shared;
use crate::recover::tree::Obstacle;

/// The bytes of an mbarrier.
const SIZE: u64 = 8;

/// How many operations an address is followed back.
const MOST_STEPS: u32 = 16;

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
                    mbarriers.extend(addresses.fixed(*address, MOST_STEPS));
                }
                // Which one ends is not asked where that is computed.
                Synchronization::MbarrierInvalidate { address } => {
                    ended.insert(addresses.base(*address, MOST_STEPS)?);
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
        let (space, address, bytes) = match &operation.kind {
            OperationKind::Store {
                space,
                address,
                values,
                width,
                ..
            } => {
                let bytes = u64::from(width.div_ceil(8));
                let count = u64::try_from(values.len()).ok()?;
                (*space, *address, bytes.checked_mul(count)?)
            }
            OperationKind::Atomic {
                space,
                address,
                width,
                ..
            } => (*space, *address, u64::from(width.div_ceil(8))),
            _ => return None,
        };
        if !is_shared(space) {
            return None;
        }
        let hits = match addresses.fixed(address, MOST_STEPS) {
            Some((variable, offset)) => mbarriers.iter().any(|(of, place)| {
                *of == variable
                    && *place < offset.saturating_add(bytes)
                    && offset < place.saturating_add(SIZE)
            }),
            None => addresses
                .base(address, MOST_STEPS)
                .is_some_and(|variable| full(&variable).unwrap_or(false)),
        };
        hits.then(|| operation.location.clone())
    })
}

/// From where the addresses of a kernel come.
struct Addresses<'a> {
    /// What assigns a register, if that is one operation, and always.
    definitions: Vec<Option<&'a OperationKind>>,
}

impl<'a> Addresses<'a> {
    fn new(kernel: &'a Kernel) -> Self {
        let mut definitions = vec![None; kernel.registers.len()];
        let mut several: BTreeSet<RegisterId> = BTreeSet::new();
        for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
            for register in operation.kind.results() {
                let Some(place) = definitions.get_mut(register.0 as usize) else {
                    continue;
                };
                if place.replace(&operation.kind).is_some() || operation.guard.is_some() {
                    several.insert(register);
                }
            }
        }
        for register in several {
            definitions[register.0 as usize] = None;
        }
        Self { definitions }
    }

    fn definition(&self, operand: Operand) -> Option<&'a OperationKind> {
        match operand {
            Operand::Register(register) => *self.definitions.get(register.0 as usize)?,
            Operand::Constant(_) => None,
        }
    }

    /// The variable and the offset in bytes of an address that is the same for all threads.
    fn fixed(&self, operand: Operand, steps: u32) -> Option<(VariableId, u64)> {
        let steps = steps.checked_sub(1)?;
        match self.definition(operand)? {
            OperationKind::AddressOf { variable, .. } => Some((*variable, 0)),
            OperationKind::ConvertAddress { address, .. } => self.fixed(*address, steps),
            OperationKind::Compute {
                compute, operands, ..
            } => match (compute, operands.as_slice()) {
                (Compute::Copy | Compute::Convert { .. }, [address]) => self.fixed(*address, steps),
                (Compute::Add, [one, other]) => {
                    let (address, offset) = match (one, other) {
                        (address, Operand::Constant(offset))
                        | (Operand::Constant(offset), address) => (*address, *offset),
                        _ => return None,
                    };
                    let (variable, before) = self.fixed(address, steps)?;
                    let offset = before.checked_add(u64::try_from(offset).ok()?)?;
                    Some((variable, offset))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The one variable in which an address lies that is a sum with its address.
    fn base(&self, operand: Operand, steps: u32) -> Option<VariableId> {
        let steps = steps.checked_sub(1)?;
        match self.definition(operand)? {
            OperationKind::AddressOf { variable, .. } => Some(*variable),
            OperationKind::ConvertAddress { address, .. } => self.base(*address, steps),
            OperationKind::Compute {
                compute: Compute::Copy | Compute::Convert { .. } | Compute::Add | Compute::Subtract,
                operands,
                ..
            } => {
                let mut bases = operands.iter().filter_map(|part| self.base(*part, steps));
                match (bases.next(), bases.next()) {
                    (Some(base), None) => Some(base),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
