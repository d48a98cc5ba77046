//! Promotes `.param` variables to registers (scalar replacement). Inlined functions get their
//! arguments and return their results in such variables, which are memory in PTX. A variable is
//! promoted if every access is to one of several pieces that do not overlap: each piece is a register.

use rustc_hash::FxHashMap;
use rustc_hash::FxHashSet;

use super::call::called_lists;
use super::declaration::vector_of;
use super::declaration::width_of;
use super::resolved::Body;
use super::resolved::Instruction;
use super::resolved::Item;
use super::resolved::Memory;
use super::resolved::Operand;
use super::resolved::visit_operand;
use super::tree::VariableSpace;

/// The width in bits of each piece, by variable and offset. Variables that are not listed stay in memory.
pub type Pieces = FxHashMap<usize, FxHashMap<i64, u16>>;

pub fn pieces(body: &Body<'_>) -> Pieces {
    let mut found: Pieces = FxHashMap::default();
    for (number, variable) in body.variables.iter().enumerate() {
        if variable.space == VariableSpace::Parameter {
            found.insert(number, FxHashMap::default());
        }
    }
    if found.is_empty() {
        return found;
    }
    let mut whole: FxHashSet<usize> = FxHashSet::default();
    for item in &body.items {
        let Item::Instruction(instruction) = item else {
            continue;
        };
        if let Some((variable, offset, width, count)) = access(instruction) {
            let bytes = i64::from(width / 8);
            for index in 0..i64::from(count) {
                let pieces = found.get_mut(&variable);
                let offset = offset.checked_add(index * bytes);
                if let (Some(pieces), Some(offset)) = (pieces, offset)
                    && pieces.insert(offset, width).is_some_and(|old| old != width)
                {
                    whole.insert(variable);
                }
            }
            continue;
        }
        // A call that is not inlined passes whole variables. It accesses no part of one.
        if instruction.opcode == "call" && called_lists(instruction).is_some() {
            continue;
        }
        for operand in &instruction.operands {
            visit_operand(operand, &mut |operand| {
                if let Operand::Variable(Memory::Own(number), _) = operand {
                    whole.insert(*number);
                }
            });
        }
    }
    found.retain(|number, pieces| !whole.contains(number) && disjoint(pieces));
    found
}

fn disjoint(pieces: &FxHashMap<i64, u16>) -> bool {
    let mut sorted: Vec<(i64, u16)> = pieces.iter().map(|(at, width)| (*at, *width)).collect();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .all(|pair| pair[0].0.saturating_add(i64::from(pair[0].1 / 8)) <= pair[1].0)
}

/// The variable that `ld.param` or `st.param` names, the offset, the width in bits of an element
/// and how many there are.
pub fn access(instruction: &Instruction<'_>) -> Option<(usize, i64, u16, u8)> {
    if !matches!(instruction.opcode, "ld" | "st") {
        return None;
    }
    let modifiers = &instruction.modifiers;
    if !modifiers.iter().any(|m| m.starts_with("param")) {
        return None;
    }
    let width = modifiers.iter().rev().find_map(|m| width_of(m))?;
    let count = modifiers.iter().find_map(|m| vector_of(m)).unwrap_or(1);
    let address = instruction
        .operands
        .iter()
        .find(|operand| matches!(operand, Operand::Address { .. }))?;
    let Operand::Address { base, offset, rest } = address else {
        return None;
    };
    if !rest.is_empty() || width % 8 != 0 {
        return None;
    }
    match **base {
        Operand::Variable(Memory::Own(number), first) => {
            Some((number, first.checked_add(*offset)?, width, count))
        }
        _ => None,
    }
}
