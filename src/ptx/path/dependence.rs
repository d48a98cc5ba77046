//! Dependence analysis: the parameters, and the numbers of CTAs, on which synchronization may depend. Their ranges are
//! assumptions of the verdict. That includes values that the text does not mention, for example because a comparison
//! with a limit always has the same result within the range.
//!
//! The analysis is flow-insensitive. A register depends on every value that is ever written to it, and on the branches around
//! these writes. So the result may have too many parameters, but not too few. A value that is read from memory depends on no
//! parameter.

use std::collections::BTreeSet;

use super::flow::End;
use super::flow::Flow;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;

/// What the launch gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum Place {
    /// A parameter, and the offset in it; any if its address is computed.
    Parameter(usize, Option<i64>),
    /// The index of the CTA or of the cluster along an axis.
    Block(usize),
    /// The extent of the grid along an axis.
    Blocks(usize),
}

impl Place {
    /// What a special register gives.
    fn special(name: &str) -> Option<Self> {
        let (stem, axis) = name.split_once('.')?;
        let axis = ["x", "y", "z"].iter().position(|own| *own == axis)?;
        match stem {
            "%ctaid" | "%clusterid" => Some(Self::Block(axis)),
            "%nctaid" | "%nclusterid" => Some(Self::Blocks(axis)),
            _ => None,
        }
    }
}

/// A set of places, by their numbers. The last bit stands for all that have no other.
type Bits = u128;

/// In larger kernels every parameter counts.
const MOST_BLOCKS: usize = 4000;

/// What an instruction says.
#[derive(Default)]
struct Said {
    places: Bits,
    read: Vec<Register>,
    written: Vec<Register>,
}

/// The parameters and numbers of CTAs that may decide about instructions that matter.
pub(in crate::ptx) fn dependences(
    function: &Function<'_>,
    flow: &Flow,
    matters: &dyn Fn(&Instruction<'_>) -> bool,
) -> BTreeSet<Place> {
    let mut places: Vec<Place> = Vec::new();
    let said: Vec<Said> = function
        .code
        .iter()
        .map(|instruction| said(instruction, function, &mut places))
        .collect();
    if flow.blocks.len() > MOST_BLOCKS {
        return places.into_iter().collect();
    }
    let range = |block: usize| flow.blocks.get(block).map_or(0..0, |b| b.code.clone());
    let matter: Vec<bool> = (0..flow.blocks.len())
        .map(|block| {
            function
                .code
                .get(range(block))
                .unwrap_or_default()
                .iter()
                .any(matters)
        })
        .collect();
    // The guards of branches, and the blocks that they decide about.
    let mut branches = Vec::new();
    for (block, own) in flow.blocks.iter().enumerate() {
        let guard = function.code.get(own.code.end).and_then(|i| i.guard);
        if let (End::Branch(yes, no), Some((guard, _))) = (own.end, guard) {
            let join = flow.join(block).unwrap_or(flow.exit());
            let mut inside = flow.between(yes, join);
            inside.extend(flow.between(no, join));
            branches.push((guard, inside));
        }
    }
    let mut held: Vec<Bits> = vec![0; function.registers.len()];
    let of =
        |held: &[Bits], register: Register| held.get(register.0 as usize).copied().unwrap_or(0);
    loop {
        let mut changed = false;
        let mut under: Vec<Bits> = vec![0; flow.blocks.len()];
        for (guard, inside) in &branches {
            let bits = of(&held, *guard);
            for block in inside {
                if let Some(all) = under.get_mut(*block) {
                    *all |= bits;
                }
            }
        }
        for (block, under) in under.iter().enumerate() {
            for said in said.get(range(block)).unwrap_or_default() {
                let read = said.read.iter().fold(0, |all, r| all | of(&held, *r));
                for register in &said.written {
                    if let Some(slot) = held.get_mut(register.0 as usize) {
                        let all = *slot | read | said.places | under;
                        changed |= all != *slot;
                        *slot = all;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut found: Bits = 0;
    for (guard, inside) in &branches {
        if inside.iter().any(|block| matter.get(*block) == Some(&true)) {
            found |= of(&held, *guard);
        }
    }
    // A pointer among the operands says where, not how much.
    let pointer = |place: &Place| match place {
        Place::Parameter(index, _) => {
            let parameter = function.parameters.get(*index);
            parameter.is_some_and(|p| p.bytes == 8)
        }
        Place::Block(_) | Place::Blocks(_) => false,
    };
    let pointers = bits(&places, &pointer);
    for instruction in function.code.iter().filter(|i| matters(i)) {
        if let Some((guard, _)) = instruction.guard {
            found |= of(&held, guard);
        }
        for operand in &instruction.operands {
            // Where a box lies in its tensor decides about data only.
            if matches!(operand, Operand::Address { rest, .. } if !rest.is_empty()) {
                continue;
            }
            registers(operand, &mut |register| {
                found |= of(&held, register) & !pointers
            });
        }
    }
    let is_found = |number: &usize| found & bit(*number) != 0;
    let all = places.iter().enumerate();
    all.filter(|(number, _)| is_found(number))
        .map(|(_, place)| *place)
        .collect()
}

fn bit(number: usize) -> Bits {
    1 << number.min(Bits::BITS as usize - 1)
}

fn bits(places: &[Place], which: &dyn Fn(&Place) -> bool) -> Bits {
    let last = bit(usize::MAX);
    let all = places.iter().enumerate().filter(|(_, place)| which(place));
    all.fold(0, |all, (number, _)| all | bit(number)) & !last
}

fn said(instruction: &Instruction<'_>, function: &Function<'_>, places: &mut Vec<Place>) -> Said {
    let mut said = Said::default();
    said.written
        .extend(destinations(instruction).into_iter().flatten());
    let name = instruction.parts().next().unwrap_or_default();
    let given = ["param", "const"]
        .iter()
        .any(|space| instruction.has(space));
    // A generic load may read a parameter.
    let generic = name == "ld"
        && !["global", "shared", "local"]
            .iter()
            .any(|s| instruction.opcode.contains(s));
    if let Some((guard, _)) = instruction.guard {
        said.read.push(guard);
    }
    if name == "atom" || name == "ld" && !given && !generic {
        return said;
    }
    let one = name == "ld" && said.written.len() == 1;
    for operand in &instruction.operands {
        registers(operand, &mut |register| said.read.push(register));
        names(operand, 0, &mut |name, offset| {
            let index = function.parameters.iter().position(|p| p.name == name);
            let parameter = index.map(|index| Place::Parameter(index, one.then_some(offset)));
            if let Some(place) = parameter.or_else(|| Place::special(name)) {
                let known = places.iter().position(|p| *p == place);
                said.places |= bit(known.unwrap_or(places.len()));
                if known.is_none() {
                    places.push(place);
                }
            }
        });
    }
    said
}

fn registers(operand: &Operand<'_>, visit: &mut dyn FnMut(Register)) {
    match operand {
        Operand::Register(register) | Operand::Not(register) => visit(*register),
        Operand::Address { base, rest, .. } => {
            registers(base, visit);
            rest.iter().for_each(|o| registers(o, visit));
        }
        Operand::Vector(parts) => parts.iter().for_each(|o| registers(o, visit)),
        Operand::Pair(pair) => {
            registers(&pair.0, visit);
            registers(&pair.1, visit);
        }
        Operand::Integer(_) | Operand::Float | Operand::Name(_) | Operand::Target(_) => {}
    }
}

fn names<'a>(operand: &Operand<'a>, offset: i64, visit: &mut dyn FnMut(&'a str, i64)) {
    match operand {
        Operand::Name(name) => visit(name, offset),
        Operand::Address { base, offset, rest } => {
            names(base, *offset, visit);
            rest.iter().for_each(|o| names(o, 0, visit));
        }
        Operand::Vector(parts) => parts.iter().for_each(|o| names(o, 0, visit)),
        Operand::Pair(pair) => {
            names(&pair.0, 0, visit);
            names(&pair.1, 0, visit);
        }
        Operand::Register(_)
        | Operand::Not(_)
        | Operand::Integer(_)
        | Operand::Float
        | Operand::Target(_) => {}
    }
}
