//! The pointers that addresses in global memory begin with. They are terms of the sum that an
//! address is.
//!
//! For example, `lock + 4 * m` begins with the parameter `lock`. Whoever relies on this assumes
//! that different parameters point to different memory.
//!
//! `n == 0 ? lock : table[i]` begins with `lock`, or with something that is not followed. An
//! address may be computed in several ways, of which one begins with a pointer and another with
//! none. The latter is then not followed, because an integer is no address.

use std::collections::BTreeSet;

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::recover::slice::definitions;

/// Stands for the first variable, as a base of addresses. Parameters have less than this many bytes.
const VARIABLES: u32 = 1 << 31;

/// The places of the parameters that an address may begin with, or the variables. `None` stands for
/// anything else.
pub type Bases = BTreeSet<Option<u32>>;

/// Assumed if memory behind different parameters is told apart.
pub const APART: &str =
    "pointers that are different parameters, and what tensor maps describe, do not overlap";

/// Whether a base is a parameter.
pub fn is_parameter(base: &Option<u32>) -> bool {
    base.is_some_and(|base| base < VARIABLES)
}

/// Whether an address can begin only with known pointers.
pub fn are_followed(bases: &Bases) -> bool {
    !bases.is_empty() && bases.iter().all(Option::is_some)
}

/// Where an operation writes to what may be global memory.
pub fn written(operation: &Operation) -> Option<Operand> {
    let write = operation.kind.write()?;
    matches!(write.space, Space::Global | Space::Generic).then_some(write.address)
}

/// The places of parameters of 8 bytes that are no pointers, for example `size_t n`. Outside of
/// products, only arithmetic uses them. What is added to an address, stored, or handed to anything
/// else may be a pointer.
pub fn wide_sizes(kernel: &Kernel) -> BTreeSet<u32> {
    let operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    let others =
        operations.filter(|operation| !matches!(operation.kind, OperationKind::Compute { .. }));
    let operands = others.flat_map(|operation| operation.kind.operands());
    let (used, _) = Pointers::new(kernel).reached(operands.collect());
    let wide = kernel.parameters.iter().filter(|each| each.size == 8);
    wide.map(|each| each.offset)
        .filter(|offset| !used.contains(&Some(*offset)))
        .collect()
}

/// A way to compute something that can be computed in several ways.
enum Way {
    /// It is a pointer.
    Pointer,
    /// A number that is no address.
    Constant,
    From(Vec<Operand>),
}

impl Way {
    fn of(operands: &[Operand]) -> Self {
        let constant = |operand: &Operand| matches!(operand, Operand::Constant(_));
        match !operands.is_empty() && operands.iter().all(constant) {
            true => Self::Constant,
            false => Self::From(operands.to_vec()),
        }
    }
}

/// What each register of a kernel is computed from.
pub struct Pointers<'k> {
    pub kernel: &'k Kernel,
    definitions: Vec<Vec<(usize, usize)>>,
}

impl<'k> Pointers<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
        Self {
            kernel,
            definitions: definitions(kernel),
        }
    }

    /// What an address may begin with.
    pub fn bases(&self, address: Operand) -> Bases {
        let (mut found, ways) = self.reached(vec![address]);
        // A pointer in one way, and none in another.
        let apart = |ways: &Vec<Way>| {
            let mut begin = ways.iter().filter_map(|way| match way {
                Way::Pointer => Some(true),
                Way::Constant => None,
                Way::From(operands) => Some(!self.reached(operands.clone()).0.is_empty()),
            });
            begin
                .next()
                .is_some_and(|first| begin.any(|other| other != first))
        };
        if !found.is_empty() && ways.iter().any(apart) {
            found.insert(None);
        }
        found
    }

    /// The pointers that an address is computed from in any way, also by products: the distance
    /// between two arrays, shifted down and up again, leads from one to the other.
    pub fn mentioned(&self, address: Operand) -> Bases {
        self.reached_by(vec![address], true).0
    }

    /// The pointers that operands are computed from. Also the ways to compute whatever is computed
    /// in several ways in between.
    fn reached(&self, from: Vec<Operand>) -> (Bases, Vec<Vec<Way>>) {
        self.reached_by(from, false)
    }

    /// As [`Self::reached`]. `by_products`: whether also by what makes no pointers.
    fn reached_by(&self, from: Vec<Operand>, by_products: bool) -> (Bases, Vec<Vec<Way>>) {
        let mut found = Bases::new();
        let mut several = Vec::new();
        let mut seen: BTreeSet<RegisterId> = BTreeSet::new();
        let mut work = from;
        while let Some(operand) = work.pop() {
            let Operand::Register(register) = operand else {
                continue;
            };
            if !seen.insert(register) {
                continue;
            }
            let wide = self.kernel.registers[register.0 as usize].width >= 64;
            let all = self.definitions.get(register.0 as usize);
            let mut ways = Vec::new();
            for (at, index) in all.into_iter().flatten() {
                let (mut own, mut way) = (Bases::new(), Vec::new());
                match &self.kernel.blocks[*at].operations[*index].kind {
                    OperationKind::Load {
                        space: Space::Parameter,
                        address: Operand::Constant(offset),
                        results,
                        width: 64,
                        ..
                    } => {
                        // Each result is a different pointer.
                        for (result, place) in results.iter().zip(0_u128..) {
                            if *result == Some(register) {
                                let place = offset.saturating_add(place * 8);
                                own.insert(u32::try_from(place).ok());
                            }
                        }
                    }
                    OperationKind::Compute {
                        compute, operands, ..
                    } => match compute {
                        // A product is no pointer, and neither is what is extended from fewer bits.
                        Compute::Multiply
                        | Compute::MultiplyHigh { .. }
                        | Compute::MultiplyWide { .. }
                        | Compute::ShiftLeft
                        | Compute::ShiftRight { .. }
                        | Compute::Divide { .. }
                        | Compute::Remainder { .. } => {
                            if by_products {
                                way.extend(operands.iter().copied());
                            }
                        }
                        // Two halves of a pointer. If one half is a constant, it is an integer.
                        Compute::Concatenate
                            if wide && matches!(operands.last(), Some(Operand::Register(_))) =>
                        {
                            own.insert(None);
                            way.extend(operands.iter().copied());
                        }
                        Compute::Select => {
                            let sides = operands.iter().skip(1);
                            several.push(sides.clone().map(|side| Way::of(&[*side])).collect());
                            way.extend(sides.copied());
                        }
                        _ => way.extend(operands.iter().copied()),
                    },
                    OperationKind::ConvertAddress { address, .. } => way.push(*address),
                    OperationKind::AddressOf { variable, .. } => {
                        own.insert(VARIABLES.checked_add(variable.0));
                    }
                    OperationKind::Special { .. } => {}
                    _ if wide => {
                        own.insert(None);
                    }
                    _ => {}
                }
                ways.push(match own.is_empty() {
                    true => Way::of(&way),
                    false => Way::Pointer,
                });
                found.extend(own);
                work.extend(way);
            }
            if ways.len() > 1 {
                several.push(ways);
            }
        }
        (found, several)
    }
}
