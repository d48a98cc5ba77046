//! Instructions that compare and select in one: `set`, whose result is a number, and `slct`, which tests a sign. They
//! mean the same as `setp` and `selp` together.

use super::evaluate::kind_of;
use super::evaluate::select;
use super::machine::Machine;
use super::machine::State;
use super::term::Sum;
use super::value::Integer;
use super::value::Value;
use crate::ptx::syntax::ast::Instruction;

impl Machine<'_, '_> {
    /// All bits where the comparison holds, else none.
    pub(super) fn set(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Value {
        let at = instruction.at;
        let kind = parts.iter().rev().nth(1).and_then(kind_of);
        if kind.is_none_or(|(_, bits)| bits != 32) {
            return Value::lost(at, "floating-point numbers are not followed");
        }
        let [found, _] = self.compare(instruction, parts, state);
        select(&found, &Value::constant(-1), &Value::constant(0), state, at)
    }

    /// The first where the third is not negative, else the second.
    pub(super) fn chosen_by_sign(
        &mut self,
        instruction: &Instruction<'_>,
        operands: &[Value],
        parts: &[&str],
        state: &mut State,
    ) -> Option<Value> {
        let at = instruction.at;
        let [yes, no, Value::Integer(sign)] = operands else {
            return None;
        };
        if parts.last() != Some(&"s32") {
            return None;
        }
        let zero = Integer::same(Sum::of(0));
        let found = self.relation("ge", sign, &zero, true, 32, state, at)?;
        Some(select(&found, yes, no, state, at))
    }
}
