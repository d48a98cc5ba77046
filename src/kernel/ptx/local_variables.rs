//! Promotes `.local` variables to registers (scalar replacement). For example, the stage and the phase of a ring are in such a
//! variable if a function takes them by reference.
//!
//! ```text
//! add.u64 %rd1, %SPL, 0; st.local.u32 [%rd1+4], 0; ..; ld.local.u32 %r1, [%rd1+4];
//! ```
//!
//! Local memory belongs to one thread, as registers do. So a variable may be promoted if every access to it is known and is to
//! one of several pieces that do not overlap. This holds if its address is used only in operations that keep a fixed distance
//! to the variable, and in the addresses of loads and stores. A register holds a fixed address if every operation that assigns
//! the register gives this address. The order of the operations does not matter: in PTX, a register that is read before it is
//! assigned may hold any value, too.
//!
//! If the address is used in any other way, the variable stays in memory. Such uses are: a sum with a number that is not fixed,
//! a store of the address to memory, or an instruction of another kind. So no code has an address of a promoted variable.

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use crate::ir::Compute;
use crate::ir::Kernel;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Register;
use crate::ir::RegisterId;
use crate::ir::Space;
use crate::ir::Terminator;
use crate::ir::VariableId;
use crate::meaning::Word;

/// How many operations an address is traced back.
const MOST_STEPS: u32 = 16;

/// A variable, and an offset in bytes from its beginning.
type Place = (VariableId, i128);

/// The widths in bits of the accessed pieces, by variable and offset.
type Pieces = FxHashMap<VariableId, FxHashMap<i128, u16>>;

/// The kernel with its local variables in registers, as far as that is possible.
pub fn promote(kernel: &mut Kernel) {
    let mut pieces: Pieces = FxHashMap::default();
    for (variable, number) in kernel.variables.iter().zip(0..) {
        if variable.space == Space::Local && variable.initial.is_empty() {
            pieces.insert(VariableId(number), FxHashMap::default());
        }
    }
    if pieces.is_empty() {
        return;
    }
    let places = Places::new(kernel);
    let escaped = escaped(kernel, &places, &mut pieces);
    pieces.retain(|variable, pieces| {
        let size = kernel.variables[variable.0 as usize].size;
        !escaped.contains(variable) && size.is_some_and(|size| disjoint(pieces, size))
    });
    let accessed: Vec<Vec<Option<Place>>> = kernel
        .blocks
        .iter()
        .map(|block| {
            let access = |operation: &Operation| {
                let (_, address, ..) = access(&operation.kind)?;
                places.of_operand(address)
            };
            block.operations.iter().map(access).collect()
        })
        .collect();
    let mut registers = FxHashMap::default();
    for (variable, pieces) in &pieces {
        let mut sorted: Vec<(i128, u16)> = pieces.iter().map(|(at, width)| (*at, *width)).collect();
        sorted.sort_unstable();
        for (offset, width) in sorted {
            let name = &kernel.variables[variable.0 as usize].name;
            registers.insert((*variable, offset), (format!("{name}+{offset}"), width));
        }
    }
    let mut sorted: Vec<(Place, (String, u16))> = registers.into_iter().collect();
    sorted.sort_unstable();
    let mut of_piece: FxHashMap<Place, RegisterId> = FxHashMap::default();
    for (place, (name, width)) in sorted {
        let Ok(number) = u32::try_from(kernel.registers.len()) else {
            return;
        };
        kernel.registers.push(Register { name, width });
        of_piece.insert(place, RegisterId(number));
    }
    let widths: Vec<u16> = kernel.registers.iter().map(|one| one.width).collect();
    for (block, accessed) in kernel.blocks.iter_mut().zip(accessed) {
        let operations = std::mem::take(&mut block.operations);
        for (operation, place) in operations.into_iter().zip(accessed) {
            match place.filter(|(variable, _)| pieces.contains_key(variable)) {
                Some(place) => block
                    .operations
                    .extend(moves(&operation, place, &of_piece, &widths)),
                None => block.operations.push(operation),
            }
        }
    }
}

/// The addresses that registers hold.
struct Places<'k> {
    /// The operations that assign each register.
    definitions: Vec<Vec<&'k OperationKind>>,
    widths: Vec<u16>,
}

impl<'k> Places<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut definitions = vec![Vec::new(); kernel.registers.len()];
        for operation in kernel.blocks.iter().flat_map(|block| &block.operations) {
            for register in operation.kind.results() {
                if let Some(all) = definitions.get_mut(register.0 as usize) {
                    all.push(&operation.kind);
                }
            }
        }
        Self {
            definitions,
            widths: kernel.registers.iter().map(|one| one.width).collect(),
        }
    }

    fn of_operand(&self, operand: Operand) -> Option<Place> {
        match operand {
            Operand::Register(register) => self.of_register(register, MOST_STEPS),
            Operand::Constant(_) => None,
        }
    }

    /// The address that a register holds, if each operation that assigns it gives the same.
    fn of_register(&self, register: RegisterId, steps: u32) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let mut all = self.definitions.get(register.0 as usize)?.iter();
        let first = self.result(all.next()?, steps)?;
        all.all(|other| self.result(other, steps) == Some(first))
            .then_some(first)
    }

    /// The address that an operation computes, if it has a fixed distance from a variable.
    fn result(&self, kind: &OperationKind, steps: u32) -> Option<Place> {
        let of = |operand: &Operand| match operand {
            Operand::Register(register) => self.of_register(*register, steps),
            Operand::Constant(_) => None,
        };
        match kind {
            OperationKind::AddressOf { variable, .. } => Some((*variable, 0)),
            OperationKind::ConvertAddress {
                address,
                space: Space::Local,
                ..
            } => of(address),
            OperationKind::Compute {
                compute,
                width,
                result,
                operands,
            } => {
                // A narrower address would be cut.
                if *width < 32 || self.widths.get(result.0 as usize) != Some(width) {
                    return None;
                }
                match (compute, operands.as_slice()) {
                    (Compute::Copy, [address]) => of(address),
                    (
                        Compute::Add,
                        [address, Operand::Constant(more)] | [Operand::Constant(more), address],
                    ) => {
                        let (variable, offset) = of(address)?;
                        let more = Word::new(*more, *width).signed();
                        Some((variable, offset.checked_add(more)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The access of an operation: the space, the address, the width of an element in bits, and the number of elements.
fn access(kind: &OperationKind) -> Option<(Space, Operand, u16, usize)> {
    match kind {
        OperationKind::Load {
            results,
            space,
            address,
            width,
            ..
        } => Some((*space, *address, *width, results.len())),
        OperationKind::Store {
            values,
            space,
            address,
            width,
            ..
        } => Some((*space, *address, *width, values.len())),
        _ => None,
    }
}

/// The variables whose address is used in a way that is not followed. Notes the accesses to the others.
fn escaped(kernel: &Kernel, places: &Places<'_>, pieces: &mut Pieces) -> FxHashSet<VariableId> {
    let mut escaped = FxHashSet::default();
    for block in &kernel.blocks {
        if let Some(register) = block.end.decides()
            && let Some((variable, _)) = places.of_operand(Operand::Register(register))
        {
            escaped.insert(variable);
        }
        if let Terminator::Switch { index, .. } = &block.end
            && let Some((variable, _)) = places.of_operand(*index)
        {
            escaped.insert(variable);
        }
        for operation in &block.operations {
            let kind = &operation.kind;
            // An operation may compute an address at a fixed distance only for registers that always hold this
            // address.
            if let Some((variable, _)) = places.result(kind, MOST_STEPS) {
                let results = kind.results();
                let holds = |register: &RegisterId| {
                    places.of_operand(Operand::Register(*register))
                        == places.result(kind, MOST_STEPS)
                };
                if !results.iter().all(holds) {
                    escaped.insert(variable);
                }
                continue;
            }
            let accessed = access(kind).and_then(|(space, address, width, count)| {
                let place = places.of_operand(address)?;
                matches!(space, Space::Local | Space::Generic).then_some((place, width, count))
            });
            let mut operands = kind.operands();
            if let Some(((variable, offset), width, count)) = accessed {
                // The value that is stored may be an address, too.
                operands = match kind {
                    OperationKind::Store { values, .. } => values.clone(),
                    _ => Vec::new(),
                };
                if let Some(own) = pieces.get_mut(&variable) {
                    for index in 0..count {
                        let bytes =
                            i128::from(width / 8) * i128::try_from(index).unwrap_or(i128::MAX);
                        let other = own.insert(offset.saturating_add(bytes), width);
                        if width % 8 != 0 || other.is_some_and(|other| other != width) {
                            escaped.insert(variable);
                        }
                    }
                }
            }
            for operand in operands {
                if let Some((variable, _)) = places.of_operand(operand) {
                    escaped.insert(variable);
                }
            }
        }
    }
    escaped
}

/// Whether pieces lie in a variable and do not overlap.
fn disjoint(pieces: &FxHashMap<i128, u16>, size: u64) -> bool {
    let mut sorted: Vec<(i128, i128)> = pieces
        .iter()
        .map(|(at, width)| (*at, *at + i128::from(width / 8)))
        .collect();
    sorted.sort_unstable();
    let inside = |(begin, end): &(i128, i128)| *begin >= 0 && *end <= i128::from(size);
    sorted.iter().all(inside) && sorted.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// The moves between registers that replace a load or store of pieces.
fn moves(
    operation: &Operation,
    (variable, offset): Place,
    of_piece: &FxHashMap<Place, RegisterId>,
    widths: &[u16],
) -> Vec<Operation> {
    let piece = |index: usize, width: u16| {
        let bytes = i128::from(width / 8) * i128::try_from(index).unwrap_or(i128::MAX);
        of_piece
            .get(&(variable, offset.saturating_add(bytes)))
            .copied()
    };
    let moved = |compute: Compute, width: u16, result: RegisterId, operand: Operand| Operation {
        guard: operation.guard,
        kind: OperationKind::Compute {
            compute,
            width,
            result,
            operands: vec![operand],
        },
        location: operation.location.clone(),
    };
    match &operation.kind {
        OperationKind::Load {
            results,
            width,
            signed,
            ..
        } => results
            .iter()
            .enumerate()
            .filter_map(|(index, result)| {
                let (result, piece) = ((*result)?, piece(index, *width)?);
                let to = widths.get(result.0 as usize).copied().unwrap_or(*width);
                let compute = match to == *width {
                    true => Compute::Copy,
                    false => Compute::Convert {
                        to,
                        signed: *signed,
                    },
                };
                Some(moved(compute, *width, result, Operand::Register(piece)))
            })
            .collect(),
        OperationKind::Store { values, width, .. } => values
            .iter()
            .enumerate()
            .filter_map(|(index, value)| {
                Some(moved(Compute::Copy, *width, piece(index, *width)?, *value))
            })
            .collect(),
        _ => vec![operation.clone()],
    }
}
