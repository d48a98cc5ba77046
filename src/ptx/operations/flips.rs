//! Barriers of the whole grid that take turns by the highest bit of one word: every CTA adds 1 to it, but one
//! adds `2^31 - (CTAs - 1)`, and each waits until the highest bit is not what it was when it added.
//!
//! Together they add `2^31`, and any of them without the others less than that, so the bit changes when the
//! last one has added. Nobody adds again before having seen that, so until then the lower bits do not reach it
//! a second time. That is a barrier at which every CTA arrives, and waits right afterwards. What is compared
//! is arithmetic: what is added, by whom, and which bit is waited for.

use crate::ptx::path::walk::Walker;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::warp::machine::Machine;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::State;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;
use crate::ptx::warp::value::Integer;
use crate::ptx::warp::value::Value;

/// The bytes of the word.
const WORD: u32 = 4;

/// The highest bit of a word.
const HIGHEST: i128 = 1 << 31;

impl Walker<'_, '_, '_> {
    /// Carries out an atomic addition that arrives at such a barrier, and returns whether it is one.
    pub fn turns_over(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        lanes: u32,
        state: &mut State,
        out: &mut Vec<Statement>,
    ) -> Result<bool, Obstacle> {
        let [Operand::Register(register), address, added] = instruction.operands.as_slice() else {
            return Ok(false);
        };
        if !parts.contains(&"add") || !matches!(parts.last(), Some(&("u32" | "s32"))) {
            return Ok(false);
        }
        let (Value::Integer(address), Value::Integer(added)) = (
            self.machine.value(address, state, instruction.at),
            self.machine.value(added, state, instruction.at),
        ) else {
            return Ok(false);
        };
        let all = all_together(&added.sum, self.machine.unknowns);
        let all = all.filter(|_| added.lanes.is_none() && address.lanes.is_none());
        let (Some((axes, ctas)), Some(pointer)) = (all, self.pointer(&address.sum)) else {
            return Ok(false);
        };
        if lanes.count_ones() != 1 {
            return self
                .refuse(instruction, "more than one lane arrives for its CTA")
                .map(|()| false);
        }
        self.waited.insert(pointer);
        self.widths.note(pointer, WORD, instruction.at);
        let found = self
            .machine
            .unknowns
            .fresh(Meaning::Found(address.sum.clone(), axes));
        self.push(
            out,
            instruction,
            Action::GridArrive(address.sum, found, ctas),
        );
        let value = Value::Integer(Integer::same(Sum::unknown(found)));
        self.machine.write(instruction, *register, value, state);
        Ok(true)
    }

    /// The wait for the highest bit to change, where this says that it has.
    pub fn turned_over(&self, until: &Condition) -> Option<Action> {
        let Condition::Negative(sum) = until else {
            return None;
        };
        let (Atom::Unknown(unknown), 1) = sum.single()? else {
            return None;
        };
        match self.machine.unknowns.meaning(*unknown)? {
            Meaning::Flipped(address, found, _) => Some(Action::GridWait(address.clone(), *found)),
            _ => None,
        }
    }
}

impl Machine<'_, '_> {
    /// What is read now, different in the bits that have changed since something was found there.
    pub fn flipped(&mut self, a: &Integer, b: &Integer, state: &mut State) -> Option<Integer> {
        let one = |integer: &Integer| match (integer.sum.single(), &integer.lanes) {
            (Some((Atom::Unknown(u), 1)), None) => Some((*u, self.unknowns.meaning(*u)?.clone())),
            _ => None,
        };
        let (found, now, before, read) = match (one(a)?, one(b)?) {
            ((found, Meaning::Found(before, _)), (read, Meaning::Read(now, WORD)))
            | ((read, Meaning::Read(now, WORD)), (found, Meaning::Found(before, _))) => {
                (found, now, before, read)
            }
            _ => return None,
        };
        if now != before {
            return None;
        }
        let flipped = self.unknowns.fresh(Meaning::Flipped(now, found, read));
        state.facts.bound(flipped, -HIGHEST, HIGHEST - 1);
        Some(Integer::same(Sum::unknown(flipped)))
    }
}

/// Whether one CTA adds `2^31 - (CTAs - 1)`, modulo `2^32`, and every other one 1: the axes along which the CTAs
/// are counted, and how many there are.
fn all_together(added: &Sum, unknowns: &Unknowns) -> Option<(Vec<usize>, Sum)> {
    let (Atom::Choice(condition, yes, no), 1) = added.single()? else {
        return None;
    };
    let (first, one, others) = match &**condition {
        Condition::Zero(first) => (first, yes, no),
        Condition::Not(inner) => match &**inner {
            Condition::Zero(first) => (first, no, yes),
            _ => return None,
        },
        _ => return None,
    };
    if others.as_constant() != Some(1) {
        return None;
    }
    // All block indices are 0 where their sum is.
    let sign = if first.terms.values().all(|c| *c == 1) {
        1
    } else {
        -1
    };
    let mut blocks = Vec::new();
    for (atom, factor) in &first.terms {
        match (atom, factor * sign) {
            (Atom::Unknown(u), 1) => match unknowns.meaning(*u) {
                Some(Meaning::Block(axis)) => blocks.push(*axis),
                _ => return None,
            },
            _ => return None,
        }
    }
    let mut ctas = Sum::of(1);
    for axis in &blocks {
        let extent = unknowns.find(&Meaning::Blocks(*axis))?;
        ctas = ctas.times(&Sum::unknown(extent));
    }
    let rest = one.plus(&ctas).plus_constant(-1 - HIGHEST);
    let exact = rest.as_constant().is_some_and(|c| c % (2 * HIGHEST) == 0);
    (!blocks.is_empty() && first.constant == 0 && exact).then_some((blocks, ctas))
}

/// Whether an unknown is what memory held at some time.
pub(in crate::ptx) fn found(unknowns: &Unknowns, unknown: Unknown) -> bool {
    matches!(
        unknowns.meaning(unknown),
        Some(
            Meaning::Read(..)
                | Meaning::Found(..)
                | Meaning::FetchedCount(_)
                | Meaning::Voted
                | Meaning::Flipped(..)
        )
    )
}

/// Whether an unknown is what memory held before the first of these unknowns was made.
pub(in crate::ptx) fn found_before(unknowns: &Unknowns, unknown: Unknown, first: Unknown) -> bool {
    let read = match unknowns.meaning(unknown) {
        Some(Meaning::Flipped(_, _, read)) => *read,
        _ => unknown,
    };
    found(unknowns, unknown) && read < first
}
