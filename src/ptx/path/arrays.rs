//! Points-to analysis: the parameters of the kernel that an address is based on. For example, `&bins[x[i]]` is based on
//! `bins`, even if the index comes from data.
//!
//! Pointers in different parameters are assumed not to alias. So suppose that an address is a parameter plus an offset that
//! is not an address itself. Then it is based on that parameter, however large the offset is, and an access there does not
//! touch memory of another parameter. An offset is not an address if it comes from 32 bits, or if it is a product, since no
//! program multiplies addresses. A value that is computed from addresses in another way, such as the difference of two, may
//! lead from one array to another. So an address that is made from it may point anywhere. An address that is based on a
//! shared or local variable is not in global memory.
//!
//! If a register was written after the last label, its value is the last one written. Otherwise it may be any value that is
//! ever written to it. So the analysis needs no branches and loops. A pointer that is read from memory, or computed by bit
//! operations, may point anywhere.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ptx::operations::counters::written_at;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Module;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use crate::ptx::warp::evaluate::destinations;
use crate::ptx::warp::evaluate::is_written;

/// The most passes over a function until a fixed point. Few are needed, since compilers write registers in the order of the
/// text.
const MOST_PASSES: usize = 100;

/// What an address is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ptx) enum Base {
    /// A parameter, and the offset in it.
    Parameter(usize, i64),
    /// A variable of the CTA or the thread.
    Own,
}

/// What a register may hold.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    /// Nothing has been written to it yet.
    Nothing,
    /// A number of at most 32 bits, or a sum or product of such.
    Number,
    /// A product, or a sum of such.
    Product,
    /// One of these, plus numbers and products.
    Based(BTreeSet<Base>),
    Anything,
    /// A value computed from addresses other than by adding an offset to one.
    Mixed,
}

/// What the registers of a function hold.
#[derive(Debug)]
pub(in crate::ptx) struct Arrays<'a> {
    /// Anywhere.
    registers: Vec<Held>,
    /// The registers that have been written since the last label.
    last: BTreeMap<u32, Held>,
    /// At instructions that write to memory, by their place in the text.
    here: BTreeMap<(usize, u32), Held>,
    /// The names of its shared and local variables.
    own: BTreeSet<&'a str>,
}

impl Held {
    fn or(&self, other: &Held) -> Held {
        match (self, other) {
            (Held::Nothing, held) | (held, Held::Nothing) => held.clone(),
            (Held::Mixed, _) | (_, Held::Mixed) => Held::Mixed,
            (Held::Based(a), Held::Based(b)) => Held::Based(a | b),
            (Held::Number, Held::Number) => Held::Number,
            (Held::Number | Held::Product, Held::Number | Held::Product) => Held::Product,
            _ => Held::Anything,
        }
    }

    fn plus(&self, other: &Held) -> Held {
        match (self, other) {
            (Held::Nothing, _) | (_, Held::Nothing) => Held::Nothing,
            (Held::Mixed, _) | (_, Held::Mixed) => Held::Mixed,
            (Held::Based(base), Held::Number | Held::Product)
            | (Held::Number | Held::Product, Held::Based(base)) => Held::Based(base.clone()),
            (Held::Based(_), Held::Based(_)) => Held::Mixed,
            _ => self.or(other),
        }
    }

    fn minus(&self, other: &Held) -> Held {
        match (self, other) {
            (_, Held::Based(_)) => Held::Mixed,
            _ => self.plus(other),
        }
    }
}

impl<'a> Arrays<'a> {
    /// Names that are declared once are not mistaken for others.
    pub fn of(module: &Module<'a>, function: &Function<'a>) -> Arrays<'a> {
        let own = [&module.shared, &function.shared, &function.local];
        let names = own.into_iter().flatten().map(|variable| variable.name);
        let once = |name: &&str| module.declared.iter().filter(|n| *n == name).count() == 1;
        let mut arrays = Arrays {
            registers: vec![Held::Nothing; function.registers.len()],
            last: BTreeMap::new(),
            here: BTreeMap::new(),
            own: names.filter(once).collect(),
        };
        let labels: BTreeSet<usize> = function.targets.iter().copied().collect();
        let mut passes = 0;
        loop {
            let mut changed = false;
            passes += 1;
            if passes > MOST_PASSES {
                arrays.registers.fill(Held::Anything);
                arrays.here.clear();
                return arrays;
            }
            arrays.last.clear();
            for (index, instruction) in function.code.iter().enumerate() {
                if labels.contains(&index) {
                    arrays.last.clear();
                }
                if let Some(Register(number)) = written_at(instruction).and_then(based_on) {
                    let held = arrays.held(Some(&Operand::Register(Register(number))));
                    let here = arrays.here.entry((instruction.at, number));
                    let slot = here.or_insert(Held::Nothing);
                    *slot = slot.or(&held);
                }
                let first = arrays.written(instruction, function);
                let all = destinations(instruction);
                let several = all.len() > 1;
                for (place, register) in all.into_iter().enumerate() {
                    let Some(Register(number)) = register else {
                        continue;
                    };
                    let written = match &first {
                        // The parameters that follow.
                        Held::Based(bases) if several && instruction.opcode.starts_with("ld.") => {
                            let next = |base: &Base| match base {
                                Base::Parameter(index, offset) => {
                                    let behind = 8 * i64::try_from(place).unwrap_or(0);
                                    Base::Parameter(*index, offset + behind)
                                }
                                Base::Own => Base::Own,
                            };
                            Held::Based(bases.iter().map(next).collect())
                        }
                        Held::Based(_) if several => Held::Mixed,
                        held => held.clone(),
                    };
                    let now = match instruction.guard {
                        None => written.clone(),
                        // It may not have been written.
                        Some(_) => {
                            written.or(&arrays.held(Some(&Operand::Register(Register(number)))))
                        }
                    };
                    if let Some(slot) = arrays.registers.get_mut(number as usize) {
                        let held = slot.or(&written);
                        changed |= held != *slot;
                        *slot = held;
                        arrays.last.insert(number, now);
                    }
                }
            }
            if !changed {
                return arrays;
            }
        }
    }

    /// What the address of a write to memory may be based on. `None` if it may point anywhere.
    pub fn behind(&self, instruction: &Instruction<'_>) -> Option<&BTreeSet<Base>> {
        let Register(number) = written_at(instruction).and_then(based_on)?;
        match self.here.get(&(instruction.at, number))? {
            Held::Based(bases) => Some(bases),
            _ => None,
        }
    }

    fn held(&self, operand: Option<&Operand<'_>>) -> Held {
        match operand {
            Some(Operand::Register(Register(number))) => {
                let last = self.last.get(number);
                let held = last.or_else(|| self.registers.get(*number as usize));
                held.cloned().unwrap_or(Held::Anything)
            }
            Some(Operand::Integer(_)) => Held::Number,
            Some(Operand::Name(name)) if name.starts_with('%') => Held::Number,
            _ => Held::Anything,
        }
    }

    /// Whether a load of less than 8 bytes may read a part of a parameter of 8 or more.
    fn halves(&self, instruction: &Instruction<'_>, function: &Function<'_>) -> bool {
        let Some(Operand::Address { base, .. }) = instruction.operands.get(1) else {
            return true;
        };
        match **base {
            Operand::Name(name) => {
                let mut parameters = function.parameters.iter();
                parameters.any(|p| p.name == name && p.bytes == 8)
            }
            _ => true,
        }
    }

    /// What an instruction writes first.
    fn written(&self, instruction: &Instruction<'_>, function: &Function<'_>) -> Held {
        let parts: Vec<&str> = instruction.parts().collect();
        let name = parts.first().copied().unwrap_or_default();
        let operand = |number: usize| self.held(instruction.operands.get(number));
        let wide = |part: &&str| part.ends_with("64") || part.ends_with("128");
        let numbers = || {
            let all = 1..instruction.operands.len();
            all.fold(Held::Number, |all, number| all.or(&operand(number)))
        };
        let by = match instruction.operands.get(2) {
            Some(Operand::Integer(by)) => *by,
            _ => 0,
        };
        let product = || match (operand(1), operand(2)) {
            (Held::Nothing, _) | (_, Held::Nothing) => Held::Nothing,
            (Held::Number, Held::Number) => Held::Number,
            _ => Held::Product,
        };
        // Only adding leaves an address one of its array.
        let adds = match name {
            "add" | "sub" | "mov" | "cvta" | "selp" => parts.iter().any(wide),
            "cvt" => parts.iter().filter(|p| wide(p)).count() == 2,
            _ => false,
        };
        let added = name == "mad" && parts.iter().any(wide);
        let taken = if added {
            1..3
        } else {
            1..instruction.operands.len()
        };
        let parameter = |base: &Base| matches!(base, Base::Parameter(..));
        let from = |held: Held| match held {
            Held::Based(bases) => bases.iter().any(parameter),
            held => held == Held::Mixed,
        };
        if !adds && taken.map(operand).any(from) {
            return Held::Mixed;
        }
        match name {
            "call" => Held::Anything,
            // A half of a pointer.
            "ld" if parts.contains(&"param")
                && !parts.iter().any(wide)
                && self.halves(instruction, function) =>
            {
                Held::Mixed
            }
            "ld" if parts.iter().any(|p| matches!(*p, "param" | "const"))
                && parts.iter().any(wide) =>
            {
                match instruction.operands.get(1) {
                    Some(Operand::Address { base, offset, rest }) if rest.is_empty() => {
                        let Operand::Name(name) = **base else {
                            return Held::Anything;
                        };
                        let index = function.parameters.iter().position(|p| p.name == name);
                        match index {
                            Some(index)
                                if !parts.iter().any(|p| p.ends_with("128"))
                                    && !is_written(function, index) =>
                            {
                                Held::Based(BTreeSet::from([Base::Parameter(index, *offset)]))
                            }
                            _ => Held::Anything,
                        }
                    }
                    _ => Held::Anything,
                }
            }
            "mul" | "mad" if parts.contains(&"wide") => match name {
                "mul" => Held::Number,
                _ => Held::Number.plus(&operand(3)),
            },
            "cvt" => {
                let to = parts.len().checked_sub(2).and_then(|to| parts.get(to));
                match (to.is_some_and(wide), parts.last().is_some_and(wide)) {
                    (true, true) => operand(1),
                    _ => Held::Number,
                }
            }
            _ if !parts.iter().any(wide) => Held::Number,
            "mov" | "cvta" => match instruction.operands.get(1) {
                Some(Operand::Name(name)) if self.own.contains(name) => {
                    Held::Based(BTreeSet::from([Base::Own]))
                }
                _ => operand(1),
            },
            "add" => operand(1).plus(&operand(2)),
            "sub" => operand(1).minus(&operand(2)),
            "mul" if parts.contains(&"lo") => product(),
            "mad" if parts.contains(&"lo") => product().plus(&operand(3)),
            "shl" if by >= 1 => match operand(1) {
                held @ (Held::Nothing | Held::Number) => held,
                _ => Held::Product,
            },
            "selp" => operand(1).or(&operand(2)),
            "neg" | "abs" | "min" | "max" | "rem" | "div" | "shl" | "shr" | "and" | "or"
            | "xor" | "not" => match numbers() {
                Held::Number => Held::Number,
                _ => Held::Anything,
            },
            _ => Held::Anything,
        }
    }
}

/// The register that an address is made of.
fn based_on(address: &Operand<'_>) -> Option<Register> {
    match address {
        Operand::Address { base, rest, .. } if rest.is_empty() => based_on(base),
        Operand::Register(register) => Some(*register),
        _ => None,
    }
}
