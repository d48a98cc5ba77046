//! Predicates: comparisons of integers, and logical operations on these.

use super::evaluate::kind_of;
use super::machine::Machine;
use super::machine::Meaning;
use super::machine::State;
use super::machine::wrap;
use super::term::Atom;
use super::term::Condition;
use super::term::Sum;
use super::term::Unknown;
use super::value::Integer;
use super::value::LANES;
use super::value::Value;
use crate::ptx::operations::flips::found;
use crate::ptx::syntax::ast::Instruction;

impl Machine<'_, '_> {
    /// What a comparison says.
    pub fn compare(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> [Value; 2] {
        let at = instruction.at;
        let found = self.compared(instruction, parts, state);
        let other = found.negated();
        match (parts.get(2).copied(), instruction.operands.get(3)) {
            (Some(name @ ("and" | "or" | "xor")), Some(third)) => {
                let third = self.value(third, state, at);
                [found, other].map(|outcome| logical(name, &outcome, &third, at))
            }
            _ => [found, other],
        }
    }

    /// The outcome of the comparison alone.
    fn compared(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Value {
        let at = instruction.at;
        let (Some(first), Some(second)) =
            (instruction.operands.get(1), instruction.operands.get(2))
        else {
            return Value::lost(at, "an operand is missing");
        };
        let (first, second) = (self.value(first, state, at), self.value(second, state, at));
        let relation = parts.get(1).copied().unwrap_or_default();
        let (Value::Integer(a), Value::Integer(b)) = (&first, &second) else {
            if let Some(found) = self.neither(instruction, parts, state) {
                return found;
            }
            if let Some(found) = self.by_groups(relation, parts, &first, &second, state, at) {
                return found;
            }
            return match (first, second) {
                (lost @ Value::Lost(_), _) | (_, lost @ Value::Lost(_)) => lost,
                (lost @ Value::Groups(..), _) | (_, lost @ Value::Groups(..)) => lost.together(),
                _ => Value::lost(at, "predicates are compared"),
            };
        };
        let Some((signed, bits)) = parts.last().and_then(kind_of) else {
            return Value::lost(at, "this comparison is not followed");
        };
        // lo, ls, hi and hs compare without sign whatever the type says.
        let signed = signed && !matches!(relation, "lo" | "ls" | "hi" | "hs");
        let found = self.relation(relation, a, b, signed, bits, state, at);
        found.unwrap_or_else(|| {
            Value::lost(
                at,
                "this comparison is not followed: a side may wrap around, or lanes differ",
            )
        })
    }

    /// The outcome where lanes hold integers of their own, group by group.
    fn by_groups(
        &mut self,
        relation: &str,
        parts: &[&str],
        first: &Value,
        second: &Value,
        state: &mut State,
        at: usize,
    ) -> Option<Value> {
        let (signed, bits) = parts.last().and_then(kind_of)?;
        let signed = signed && !matches!(relation, "lo" | "ls" | "hi" | "hs");
        let (mine, theirs) = (first.groups(), second.groups());
        let read = |i: &Integer| i.sum.mentions(&|u| found(self.unknowns, u));
        // What one lane has read on its way is taken to be what it was taken to be there.
        let looked = mine.iter().chain(&theirs).any(|(_, integer)| read(integer));
        for (_, integer) in mine.iter().chain(&theirs).filter(|_| looked) {
            for atom in integer.sum.terms.keys() {
                if let Atom::Unknown(unknown) = atom
                    && let Some(Meaning::Read(..)) = self.unknowns.meaning(*unknown)
                {
                    state.facts.word(*unknown);
                }
            }
        }
        let mut all = Vec::new();
        for (lanes, a) in &mine {
            for (more, b) in theirs.iter().filter(|(more, _)| lanes & more != 0) {
                let outcome = self.relation(relation, a, b, signed, bits, state, at)?;
                let here = outcome.parts()?.into_iter();
                all.extend(here.map(|(group, c)| (group & lanes & more, c)));
            }
        }
        // Of lanes in no group nothing is known.
        let told = all.iter().fold(0, |told, (lanes, _)| told | lanes);
        (state.active & !told == 0).then(|| Value::parted(all))
    }

    #[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
    pub(super) fn relation(
        &mut self,
        relation: &str,
        a: &Integer,
        b: &Integer,
        signed: bool,
        bits: u32,
        state: &mut State,
        at: usize,
    ) -> Option<Value> {
        let (relation, negate, swap) = match relation {
            "eq" => ("eq", false, false),
            "ne" => ("eq", true, false),
            "lt" | "lo" => ("lt", false, false),
            "ge" | "hs" => ("lt", true, false),
            "gt" | "hi" => ("lt", false, true),
            "le" | "ls" => ("lt", true, true),
            _ => return None,
        };
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let value = if let (Some(x), Some(y)) = (a.constants(), b.constants()) {
            let mut mask = 0;
            for lane in 0..32 {
                let (x, y) = (wrap(x[lane], signed, bits), wrap(y[lane], signed, bits));
                if if relation == "eq" { x == y } else { x < y } {
                    mask |= 1 << lane;
                }
            }
            match mask {
                0 => Value::Same(Condition::Constant(false)),
                u32::MAX => Value::Same(Condition::Constant(true)),
                mask => Value::Mask(mask),
            }
        } else if a.lanes.is_some() || b.lanes.is_some() {
            let mut parts = Vec::new();
            for lane in outermost_first(&a.plus_times(b, -1)) {
                let (x, y) = (Integer::same(a.lane(lane)), Integer::same(b.lane(lane)));
                let condition = self.uniform(relation, &x, &y, signed, bits, state, at)?;
                let known = state.facts.decide(&condition).map(Condition::Constant);
                parts.push((1u32 << lane, known.unwrap_or(condition)));
            }
            parts.sort_by_key(|(lane, _)| *lane);
            Value::parted(parts)
        } else {
            let condition = self.uniform(relation, a, b, signed, bits, state, at)?;
            match state.facts.decide(&condition) {
                Some(known) => Value::Same(Condition::Constant(known)),
                None => Value::Same(state.facts.without_sides(condition)),
            }
        };
        Some(if negate { value.negated() } else { value })
    }

    #[expect(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn uniform(
        &mut self,
        relation: &str,
        a: &Integer,
        b: &Integer,
        signed: bool,
        bits: u32,
        state: &mut State,
        at: usize,
    ) -> Option<Condition> {
        self.note_constants(&[a, b]);
        let difference = a.plus_times(b, -1);
        let difference = Integer {
            sum: state.facts.settled(&difference.sum),
            ..difference
        };
        // Counters that are waited for are taken not to wrap around.
        let read = |sum: &Sum| {
            let bare = sum.constant == 0 && sum.terms.len() == 1;
            let meets = |u: Unknown| matches!(self.unknowns.meaning(u), Some(Meaning::Read(..)));
            bare && sum.mentions(&meets)
        };
        if (read(&a.sum) || read(&b.sum))
            && let Some(x) = self.read(a, signed, bits, state, at)
            && let Some(y) = self.read(b, signed, bits, state, at)
        {
            let difference = x.plus_times(&y, -1).sum;
            return Some(Condition::about(difference, relation == "eq"));
        }
        if relation == "eq" {
            let full = 1i128 << bits;
            // Bits are equal exactly where the numbers are, as long as they are close; numbers may be
            // taken a whole turn further for that.
            let (least, most) = difference.range(&state.facts);
            let close = |turn: &i128| 1 - full <= least + turn && most + turn < full;
            let turn = [0, full, -full].into_iter().find(close);
            if turn.is_none() && !self.fits(&difference, 1 - full, full - 1, state, at) {
                return None;
            }
            let difference = difference.sum.plus_constant(turn.unwrap_or(0));
            return Some(Condition::about(difference, true));
        }
        // What is certain comes before what would have to be assumed.
        let surely = std::mem::replace(&mut self.sure, true);
        let found = self.ordered(a, b, signed, bits, state, at);
        self.sure = surely;
        if found.is_some() || surely {
            return found;
        }
        let before = (self.assumptions.clone(), state.facts.clone());
        let found = self.ordered(a, b, signed, bits, state, at)?;
        // A signed comparison with a constant that is decided by what would be assumed looks for just what that excludes:
        // `n + m < 0` holds where the sum wraps around.
        let by_constant = a.constants().is_some() || b.constants().is_some();
        let assumed = *self.assumptions != before.0;
        if signed && by_constant && assumed && state.facts.decide(&found).is_some() {
            (*self.assumptions, state.facts) = before;
            return None;
        }
        Some(found)
    }

    /// Whether one number is below another.
    fn ordered(
        &mut self,
        a: &Integer,
        b: &Integer,
        signed: bool,
        bits: u32,
        state: &mut State,
        at: usize,
    ) -> Option<Condition> {
        self.note_words(&[a, b]);
        if let (Some(x), Some(y)) = (
            self.read(a, signed, bits, state, at),
            self.read(b, signed, bits, state, at),
        ) {
            return Some(Condition::about(x.sum.minus(&y.sum), false));
        }
        if signed {
            return None;
        }
        // A side that is negative is above everything that is not.
        let a = self.read(a, true, bits, state, at)?;
        let b = self.read(b, true, bits, state, at)?;
        let less = Condition::about(a.sum.minus(&b.sum), false);
        if state.facts.is_positive(&b.sum) {
            return Some(Condition::Negative(a.sum.clone()).negated().and(less));
        }
        if state.facts.is_positive(&a.sum) {
            return Some(Condition::Negative(b.sum.clone()).or(less));
        }
        None
    }
}

/// The lanes, those with the least and the greatest value before the others: what has to be assumed so that
/// these do not wrap around is enough for all.
fn outermost_first(integer: &Integer) -> Vec<usize> {
    let value = |lane: &usize| integer.lanes.as_ref().map_or(0, |l| l[*lane]);
    let mut lanes: Vec<usize> = (0..LANES).collect();
    lanes.sort_by_key(value);
    lanes.swap(1, LANES - 1);
    lanes
}

/// Two predicates as one.
pub(in crate::ptx) fn logical(name: &str, a: &Value, b: &Value, at: usize) -> Value {
    if name == "not" {
        return a.negated();
    }
    // One side may decide alone.
    let decisive = name == "or";
    for side in [a, b] {
        if matches!(side, Value::Same(Condition::Constant(c)) if *c == decisive) && name != "xor" {
            return side.clone();
        }
    }
    match (a, b) {
        (lost @ Value::Lost(_), _) | (_, lost @ Value::Lost(_)) => return lost.clone(),
        _ => {}
    }
    let both = a.combined(b, &|a, b| {
        let (a, b) = (a.clone(), b.clone());
        match name {
            "and" => a.and(b),
            "or" => a.or(b),
            _ => a.clone().and(b.negated()).or(a.negated().and(b)),
        }
    });
    both.unwrap_or_else(|| Value::lost(at, "an integer stands where a predicate is needed"))
}
