//! `(a | b) == 0`, as compilers write `a == 0 && b == 0`. What bits a disjunction has may not be followed, but it is zero
//! where both are.
//!
//! The two are looked up where the comparison stands, and have to hold there what they held at the disjunction. So the
//! disjunction and both of them have to be written once in the whole function, without a guard, and what they are written from
//! must never change while a thread runs: constants, parameters, the place of the thread, and what is made of such.

use super::evaluate::destinations;
use super::machine::Machine;
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
    /// The two registers of which a register is the disjunction, all of them what they are for as long as the thread runs.
    pub(super) fn either(&self, operand: &Operand<'_>) -> Option<[Register; 2]> {
        let Operand::Register(register) = operand else {
            return None;
        };
        let writer = self.writer(*register)?;
        let [_, Operand::Register(a), Operand::Register(b)] = writer.operands.as_slice() else {
            return None;
        };
        let fixed = |side: &Register| self.is_fixed(&Operand::Register(*side), DEPTH);
        (writer.opcode == "or.b32" && fixed(a) && fixed(b)).then_some([*a, *b])
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
