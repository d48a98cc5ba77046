//! Reads and writes of counters in global memory.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::instruction::Done;
use crate::ptx::path::arrays::Arrays;
use crate::ptx::path::arrays::Base;
use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::evaluate::bits_of;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// The widths in bytes of the accesses through each pointer, and where these are. Words of several sizes may share bytes,
/// which is not supported.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Widths(BTreeMap<Unknown, BTreeMap<u32, usize>>);

impl Widths {
    pub fn note(&mut self, pointer: Unknown, bytes: u32, at: usize) {
        self.0
            .entry(pointer)
            .or_default()
            .entry(bytes)
            .or_insert(at);
    }

    pub fn add(&mut self, others: Widths) {
        for (pointer, widths) in others.0 {
            for (bytes, at) in widths {
                self.note(pointer, bytes, at);
            }
        }
    }

    /// Refuses memory that is waited for in words of several sizes, or of other than 4 or 8 bytes.
    pub fn alike(&self) -> Result<(), Obstacle> {
        for widths in self.0.values() {
            let strange = widths.iter().find(|(bytes, _)| !matches!(bytes, 4 | 8));
            if let Some((_, at)) = strange.or(widths.iter().nth(1)) {
                let reason = "memory that the kernel waits for is used in words of several sizes, or of other than 4 or 8 \
                              bytes";
                return Err(Obstacle::new(*at, reason));
            }
        }
        Ok(())
    }
}

impl Walker<'_, '_, '_> {
    /// The address of a counter, if this is one that the kernel waits for.
    fn counter(
        &mut self,
        instruction: &Instruction<'_>,
        operand: Option<&Operand<'_>>,
        state: &mut State,
    ) -> Result<Option<Sum>, Obstacle> {
        let at = instruction.at;
        let Some(operand) = operand else {
            return Ok(None);
        };
        if !self.has_counters() || self.elsewhere(instruction) {
            return Ok(None);
        }
        let value = self.machine.value(operand, state, at);
        let pointer = match &value {
            Value::Integer(integer) => self.pointer(&integer.sum),
            _ => None,
        };
        let (Some(pointer), Value::Integer(integer)) = (pointer, &value) else {
            self.may_be_waited_for(instruction, &value)?;
            return Ok(None);
        };
        if !self.counters.contains(&pointer) {
            return Ok(None);
        }
        let parts: Vec<&str> = instruction.parts().collect();
        let bytes = bits_of(&parts).unwrap_or(0) / 8;
        self.widths.note(pointer, bytes, at);
        self.one(instruction, integer, state).map(Some)
    }

    pub fn atomic(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        if parts.contains(&"async") {
            return self.refuse(instruction, "this form is not modelled");
        }
        let place = usize::from(parts.first() == Some(&"atom"));
        let shared = instruction.opcode.contains("shared");
        if place == 1 && !shared && self.turns_over(instruction, parts, lanes, state, out)? {
            return Ok(());
        }
        let address = instruction.operands.get(place);
        let operand = instruction.operands.get(place + 1);
        let mut seen = state.narrowed(lanes);
        let found = if shared {
            None
        } else {
            self.counter(instruction, address, &mut seen)?
        };
        let reads = matches!(operand, Some(Operand::Integer(0)))
            && parts
                .iter()
                .any(|p| matches!(*p, "add" | "or" | "xor" | "max"));
        // So is one that writes what it has to find for that.
        let swaps = |this: &mut Self, state: &mut State| match instruction.operands.as_slice() {
            [_, _, compared, written] => {
                let mut value = |o| this.machine.value(o, state, instruction.at);
                matches!((value(compared), value(written)), (Value::Integer(a), Value::Integer(b)) if a == b)
            }
            _ => false,
        };
        let reads = reads || parts.contains(&"cas") && swaps(self, state);
        if reads && place == 1 {
            // An atomic operation that changes nothing is a read.
            let bytes = bits_of(parts).unwrap_or(0) / 8;
            if let Some(Operand::Register(register)) = instruction.operands.first()
                && let Some(Value::Integer(address)) =
                    address.map(|a| self.machine.value(a, state, instruction.at))
            {
                let unknown = self
                    .machine
                    .unknowns
                    .fresh(Meaning::Read(address.sum, bytes));
                self.seen_now(instruction, unknown);
                state.facts.word(unknown);
                let value = Value::Integer(Integer::same(Sum::unknown(unknown)));
                self.machine.write(instruction, *register, value, state);
            }
            return Ok(());
        }
        if let Some(counter) = found {
            self.reaches_others(instruction)?;
            let relative = matches!(parts.last(), Some(&("u32" | "s32" | "u64" | "s64")));
            let adds = parts.contains(&"add") && relative;
            if !adds && !parts.contains(&"exch") {
                return self.refuse(
                    instruction,
                    "only additions to a counter that is waited for and exchanges are modelled",
                );
            }
            let Some(operand) = operand else {
                return self.refuse(instruction, "an operand is missing");
            };
            let value = self.word(instruction, operand, &counter, &mut seen)?;
            let action = if adds {
                Action::CounterAdd(counter, value.scaled(i128::from(lanes.count_ones())))
            } else {
                Action::CounterSet(counter, value)
            };
            self.push(out, instruction, action);
        }
        let coming = self.coming(instruction, parts, lanes, state);
        self.machine.compute(instruction, state);
        if let Some(Operand::Register(register)) = instruction.operands.first()
            && place == 1
        {
            let value = coming.unwrap_or_else(|| {
                let reason = "what an atomic operation found is not followed";
                Value::lost(instruction.at, reason)
            });
            self.machine.write(instruction, *register, value, state);
        }
        Ok(())
    }

    /// What one lane finds where it adds 1 in global memory.
    fn coming(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &mut State,
    ) -> Option<Value> {
        let [_, address, one] = instruction.operands.as_slice() else {
            return None;
        };
        let elsewhere = ["shared", "cta", "cluster"];
        if lanes.count_ones() != 1
            || !parts.contains(&"add")
            || !matches!(parts.last(), Some(&("u32" | "s32")))
            || elsewhere.iter().any(|p| parts.contains(p))
            || self.machine.value(one, state, instruction.at) != Value::constant(1)
        {
            return None;
        }
        match self.machine.value(address, state, instruction.at) {
            Value::Integer(address) if self.pointer(&address.sum).is_some() => {
                let sum = self
                    .one(instruction, &address, &mut state.narrowed(lanes))
                    .ok()?;
                Some(self.comes(instruction, &Integer::same(sum), state))
            }
            _ => None,
        }
    }

    /// Refuses what CTAs that wait need not see: done in the scope of a CTA or a cluster.
    fn reaches_others(&self, instruction: &Instruction<'_>) -> Done {
        if near(instruction) {
            let reason =
                "other CTAs wait for this memory, and need not see what is done in this scope";
            return self.refuse(instruction, reason);
        }
        Ok(())
    }

    /// What a counter is set to, or what is added to it. What the kernel has read there itself may be moved on by a constant:
    /// what that means is seen where the others wait for it.
    fn word(
        &mut self,
        instruction: &Instruction<'_>,
        operand: &Operand<'_>,
        counter: &Sum,
        state: &mut State,
    ) -> Result<Sum, Obstacle> {
        if let Value::Integer(integer) = self.machine.value(operand, state, instruction.at)
            && integer.lanes.is_none()
            && let Some((Atom::Unknown(read), 1)) =
                integer.sum.plus_constant(-integer.sum.constant).single()
            && let Some(Meaning::Read(address, _)) = self.machine.unknowns.meaning(*read)
            && address == counter
        {
            return Ok(integer.sum);
        }
        let value = self.uniform(instruction, Some(operand), state)?;
        self.countable_word(instruction, &value, state)?;
        Ok(value)
    }

    /// What is read there is taken not to be negative, nor more than 2^31 - 1.
    fn countable_word(&self, instruction: &Instruction<'_>, value: &Sum, state: &State) -> Done {
        if !state.facts.is_positive(value) {
            let reason = "what is added to the counter or put there may be negative";
            return self.refuse(instruction, reason);
        }
        if state.facts.range(value).1 > i128::from(i32::MAX) {
            let reason = "what is added to the counter or put there may be more than 2^31 - 1";
            return self.refuse(instruction, reason);
        }
        Ok(())
    }

    /// Refuses what may write to a counter other than by an operation on it, as a bulk copy does.
    pub fn written_over(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
    ) -> Done {
        let Some(operand) = written_at(instruction) else {
            return Ok(());
        };
        if !self.has_counters() || self.elsewhere(instruction) {
            return Ok(());
        }
        let mut seen = state.narrowed(lanes);
        let value = self.machine.value(operand, &mut seen, instruction.at);
        let pointer = match &value {
            Value::Integer(integer) => self.pointer(&integer.sum),
            _ => None,
        };
        match pointer {
            Some(pointer) if !self.counters.contains(&pointer) => Ok(()),
            Some(_) => self.refuse(
                instruction,
                "it may write to memory that the kernel waits for",
            ),
            None => self.may_be_waited_for(instruction, &value),
        }
    }

    /// Refuses a write whose address is not followed, unless it lies in shared memory.
    fn may_be_waited_for(&self, instruction: &Instruction<'_>, address: &Value) -> Done {
        // While a guess is made, what a loop carries is not known yet: what is found then is followed once more.
        let plain = !matches!(instruction.parts().next(), Some("atom" | "red"));
        let shared = matches!(address, Value::Integer(integer) if self.in_shared(&integer.sum));
        if shared || plain && self.machine.guessing {
            return Ok(());
        }
        self.refuse(
            instruction,
            "its address is not followed, and it may be the memory that the kernel waits for",
        )
    }

    pub fn store(
        &mut self,
        instruction: &Instruction<'_>,
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Done {
        let mut seen = state.narrowed(lanes);
        if instruction.has("async") {
            return self.refuse(instruction, "this store is not modelled");
        }
        let elsewhere = |p: &str| instruction.opcode.contains(p);
        if ["shared", "local", "param"].into_iter().any(elsewhere) {
            return Ok(());
        }
        let Some(counter) = self.counter(instruction, instruction.operands.first(), &mut seen)?
        else {
            return Ok(());
        };
        let Some(operand) = instruction.operands.get(1) else {
            return self.refuse(instruction, "an operand is missing");
        };
        let value = self.word(instruction, operand, &counter, &mut seen)?;
        self.reaches_others(instruction)?;
        self.push(out, instruction, Action::CounterSet(counter, value));
        Ok(())
    }
}

/// Whether an operation on memory is ordered in the scope of its CTA or cluster only.
pub(in crate::ptx) fn near(instruction: &Instruction<'_>) -> bool {
    instruction.has("cta") || instruction.has("cluster")
}

/// Where an instruction writes to global memory. What writes by a tensor map has no address: a map is taken to describe other
/// memory than what the kernel waits for.
pub(in crate::ptx) fn written_at<'i, 'a>(
    instruction: &'i Instruction<'a>,
) -> Option<&'i Operand<'a>> {
    let opcode = instruction.opcode;
    let within = |space: &str| opcode.contains(space);
    let place = match instruction.parts().next()? {
        "atom" => 1,
        "red" | "st" if !instruction.has("async") => 0,
        "cp" if within("bulk.global") && !instruction.has("tensor") => 0,
        "wmma" if instruction.has("store") && !within("shared") => 0,
        "discard" => 0,
        // The copy of a map has two spaces, of which the first is where it goes.
        "tensormap" if within("tensormap.cp") || !within("shared") => 0,
        _ => return None,
    };
    instruction.operands.get(place)
}

/// Whether the only effect of an instruction is to write to memory for which the kernel does not wait: memory based on other
/// parameters, or memory that is not global.
pub(in crate::ptx) fn elsewhere(
    instruction: &Instruction<'_>,
    arrays: &Arrays<'_>,
    counters: &BTreeSet<Unknown>,
    unknowns: &Unknowns,
) -> bool {
    let Some(bases) = arrays.behind(instruction) else {
        return false;
    };
    let waited = |base: &Base| match base {
        Base::Own => false,
        Base::Parameter(index, offset) => {
            let pointer = unknowns.find(&Meaning::Parameter(*index, *offset));
            pointer.is_some_and(|pointer| counters.contains(&pointer))
        }
    };
    !bases.iter().any(waited)
}
