//! `(a | b) == 0`, as compilers write `a == 0 && b == 0`. What bits a disjunction has may not be followed, but it is zero
//! where both are, and negative where one is.
//!
//! The two are looked up where the comparison stands, and have to hold there what they held at the disjunction. So either
//! it stands before the comparison with no label and no branch in between, and nothing in between writes one of the two. Or
//! the disjunction and both of them are written once in the whole function, without a guard, and what they are written from
//! never changes while a thread runs: constants, parameters, the place of the thread, and what is made of such.

use super::evaluate::destinations;
use super::evaluate::kind_of;
use super::machine::Machine;
use super::machine::State;
use super::term::Sum;
use super::value::Integer;
use super::value::Value;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;

/// How many instructions are looked through for one register.
const DEPTH: usize = 6;

/// Special registers that never change.
const PLACES: [&str; 9] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_ctarank",
];

/// Instructions that make the same of the same.
const PURE: [&str; 8] = ["mov", "and", "or", "shl", "shr", "add", "sub", "cvt"];

impl<'a> Machine<'_, 'a> {
    /// What a comparison of a disjunction whose bits are not followed says: with 0, or of its sign.
    pub(super) fn neither(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Option<Value> {
        let at = instruction.at;
        let (signed, bits) = parts.last().and_then(kind_of)?;
        let Value::Integer(limit) = self.value(instruction.operands.get(2)?, state, at) else {
            return None;
        };
        let limit = limit.lanes.is_none().then(|| limit.sum.as_constant())??;
        // Whether it is 0, or whether it is negative, and whether that is asked or the contrary.
        let (zero, holds) = match (*parts.get(1)?, limit) {
            ("eq", 0) => (true, true),
            ("ne", 0) => (true, false),
            ("lt", 0) | ("le", -1) if signed => (false, true),
            ("ge", 0) | ("gt", -1) if signed => (false, false),
            _ => return None,
        };
        let whole = instruction.operands.get(1)?;
        let found = self.of_either(whole, (zero, bits), instruction, state, DEPTH)?;
        Some(if holds { found } else { found.negated() })
    }

    /// Whether a disjunction is 0, or negative.
    fn of_either(
        &mut self,
        whole: &Operand<'_>,
        (zero, bits): (bool, u32),
        instruction: &Instruction<'_>,
        state: &mut State,
        depth: usize,
    ) -> Option<Value> {
        let at = instruction.at;
        if let Value::Integer(side) = self.value(whole, state, at) {
            let none = Integer::same(Sum::of(0));
            let relation = if zero { "eq" } else { "lt" };
            return self.relation(relation, &side, &none, !zero, bits, state, at);
        }
        let depth = depth.checked_sub(1)?;
        let [a, b] = self.either(whole, bits, instruction)?;
        let a = self.of_either(&a, (zero, bits), instruction, state, depth)?;
        let b = self.of_either(&b, (zero, bits), instruction, state, depth)?;
        a.combined(&b, &|a, b| {
            let (a, b) = (a.clone(), b.clone());
            if zero { a.and(b) } else { a.or(b) }
        })
    }

    /// The two of which a register is the disjunction, both of them what they were there.
    fn either(
        &self,
        operand: &Operand<'_>,
        bits: u32,
        instruction: &Instruction<'_>,
    ) -> Option<[Operand<'a>; 2]> {
        let Operand::Register(register) = operand else {
            return None;
        };
        let sides = |writer: &Instruction<'a>| match writer.operands.as_slice() {
            [_, a, b] if writer.opcode == format!("or.b{bits}") => Some([a.clone(), b.clone()]),
            _ => None,
        };
        if let Some((writer, written)) = self.just_written(*register, instruction)
            && let Some(sides) = sides(writer)
            && !written
                .iter()
                .any(|r| sides.contains(&Operand::Register(*r)))
        {
            return Some(sides);
        }
        let sides = sides(self.writer(*register)?)?;
        let fixed = |side: &Operand<'_>| self.is_fixed(side, DEPTH);
        sides.iter().all(fixed).then_some(sides)
    }

    /// The instruction that has written a register before another, with no way in or out in between, and the registers
    /// that are written from it on, its own with them.
    fn just_written(
        &self,
        register: Register,
        instruction: &Instruction<'_>,
    ) -> Option<(&Instruction<'a>, Vec<Register>)> {
        let code = &self.function.code;
        let here = code.iter().position(|i| std::ptr::eq(i, instruction))?;
        let mut written = Vec::new();
        for (index, one) in code.iter().enumerate().take(here).rev() {
            let verb = one.parts().next().unwrap_or_default();
            let leaves = matches!(verb, "bra" | "brx" | "call" | "ret" | "exit" | "trap");
            if leaves || self.function.targets.contains(&(index + 1)) {
                return None;
            }
            let here = destinations(one);
            written.extend(here.iter().flatten());
            if here.contains(&Some(register)) {
                return one.guard.is_none().then_some((one, written));
            }
        }
        None
    }

    /// Whether an operand is what it is for as long as a thread runs.
    fn is_fixed(&self, operand: &Operand<'_>, depth: usize) -> bool {
        match operand {
            Operand::Integer(_) => true,
            Operand::Name(name) => {
                let name = name.split('.').next().unwrap_or_default();
                PLACES.contains(&name)
            }
            Operand::Register(register) => {
                let Some(writer) = depth.checked_sub(1).and_then(|_| self.writer(*register)) else {
                    return false;
                };
                let mut parts = writer.parts();
                let verb = parts.next().unwrap_or_default();
                // What stands at a fixed place among the parameters.
                if verb == "ld" && matches!(parts.next(), Some("param" | "const")) {
                    let address = writer.operands.get(1);
                    return matches!(address, Some(Operand::Address { base, .. }) if matches!(**base, Operand::Name(_)));
                }
                let operands = writer.operands.get(1..).unwrap_or_default();
                PURE.contains(&verb) && operands.iter().all(|o| self.is_fixed(o, depth - 1))
            }
            _ => false,
        }
    }

    /// The only instruction that writes a register, if it always does.
    fn writer(&self, register: Register) -> Option<&Instruction<'a>> {
        let mut writers = self
            .function
            .code
            .iter()
            .filter(|i| destinations(i).contains(&Some(register)));
        let only = writers.next().filter(|i| i.guard.is_none())?;
        writers.next().is_none().then_some(only)
    }
}
