//! Bit fields in one register, as in descriptors.

use std::rc::Rc;

use super::bits::masked;
use super::evaluate::bits_of;
use super::machine::Machine;
use super::machine::State;
use super::term::Sum;
use super::value::Integer;
use super::value::Value;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;

impl Machine<'_, '_> {
    /// Words side by side as one, the first lowest.
    pub fn packed(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Value {
        let at = instruction.at;
        let Some(Operand::Vector(words)) = instruction.operands.get(1) else {
            return Value::lost(at, "an operand is missing");
        };
        let count = u32::try_from(words.len()).unwrap_or(1).max(1);
        let bits = bits_of(parts).unwrap_or(32) / count;
        let mut whole = Integer::same(Sum::of(0));
        for (index, word) in (0u32..).zip(words) {
            let value = match self.value(word, state, at) {
                Value::Integer(value) => value,
                Value::Lost(loss) => return Value::Lost(loss),
                _ => return Value::lost(at, "a predicate stands where an integer is needed"),
            };
            let Some(value) = self.read(&value, false, bits, state, at) else {
                return Value::lost(at, "a word of it may wrap around");
            };
            whole = whole.plus_times(&value, 1 << (bits * index));
        }
        Value::Integer(whole)
    }

    /// A value cut into so many words, the lowest first.
    pub fn unpacked(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
        count: usize,
    ) -> Vec<Value> {
        let at = instruction.at;
        let words = u32::try_from(count).unwrap_or(1).max(1);
        let all = bits_of(parts).unwrap_or(32);
        let bits = all / words;
        let Some(operand) = instruction.operands.get(1) else {
            return Vec::new();
        };
        let value = match self.value(operand, state, at) {
            Value::Integer(value) => value,
            other => return vec![other.together(); count],
        };
        let word = |index: u32| {
            let field = masked(&value, ((1 << bits) - 1) << (bits * index), all, state)?;
            let by = 1i128 << (bits * index);
            Some(Integer {
                sum: field
                    .sum
                    .exactly_over(by)
                    .or_else(|| state.facts.quotient(&field.sum, &Sum::of(by)))?,
                lanes: match &field.lanes {
                    None => None,
                    Some(lanes) if lanes.iter().all(|x| x % by == 0) => {
                        Some(Rc::new(lanes.map(|x| x / by)))
                    }
                    Some(_) => return None,
                },
            })
        };
        (0..words)
            .map(|index| match word(index) {
                Some(word) => Value::Integer(word),
                None => Value::lost(at, "a word of this value is not followed"),
            })
            .collect()
    }
}
