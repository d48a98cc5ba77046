//! Evaluates arithmetic instructions. A result that is not certain is unknown, and has the reason.

use super::bits::beside;
use super::bits::concrete;
use super::bits::divided;
use super::bits::exclusive;
use super::bits::kept;
use super::bits::masked;
use super::bits::multiplied;
use super::bits::narrowed;
use super::bits::scaled_down;
use super::bits::shifted_down;
use super::bits::signs;
use super::bits::within;
use super::compare::logical;
use super::machine::Machine;
use super::machine::Meaning;
use super::machine::State;
use super::machine::wrap;
use super::pieces::in_pieces;
use super::pieces::read_wider;
use super::term::Atom;
use super::term::Cell;
use super::term::Condition;
use super::term::Sum;
use super::value::Integer;
use super::value::Value;
use super::widened::low_bits;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::syntax::ast::Operand;
use crate::ptx::syntax::ast::Register;
use std::rc::Rc;

/// The size of the largest product of which the high half is followed, in bits.
const MOST_PRODUCT_BITS: u32 = 100;

/// What may stand between the name and the type of an instruction that computes with integers: which half of a product is
/// meant, and that a carry is kept, which is not followed where it is read.
const MODIFIERS: [&str; 4] = ["lo", "hi", "wide", "cc"];

impl Machine<'_, '_> {
    /// Carries an instruction out that only computes.
    pub fn compute(&mut self, instruction: &Instruction<'_>, state: &mut State) {
        let at = instruction.at;
        let parts: Vec<&str> = instruction.parts().collect();
        let written = destinations(instruction);
        if written.is_empty() {
            return;
        }
        let values: Vec<Value> = match parts.first().copied().unwrap_or_default() {
            "setp" => self.compare(instruction, &parts, state).into(),
            "set" => vec![self.set(instruction, &parts, state)],
            "elect" | "shfl" if state.vague => {
                let lost = Value::lost(at, "which lanes of the warp are here is not known");
                vec![lost.clone(), lost]
            }
            "elect" => {
                let lowest = state.active & state.active.wrapping_neg();
                vec![
                    Value::constant(i128::from(lowest.trailing_zeros())),
                    Value::Mask(lowest),
                ]
            }
            "shfl" => {
                let value = self.shuffle(instruction, &parts, state);
                vec![
                    value,
                    Value::lost(at, "the predicate of `shfl` is not followed"),
                ]
            }
            "ld" if self.reads_parameter(instruction, &parts, state) => {
                self.parameters(instruction, &parts, state, written.len())
            }
            "mov" if written.len() > 1 => self.unpacked(instruction, &parts, state, written.len()),
            _ if written.len() > 1 => Vec::new(),
            _ => vec![self.scalar(instruction, &parts, state)],
        };
        for (index, register) in written.into_iter().enumerate() {
            let Some(register) = register else { continue };
            let value = values.get(index).cloned().unwrap_or_else(|| {
                Value::lost(at, format!("`{}` is not followed", instruction.opcode))
            });
            self.write(instruction, register, value, state);
        }
    }

    /// Writes all registers that an instruction writes.
    pub fn write_all(&mut self, instruction: &Instruction<'_>, value: &Value, state: &mut State) {
        for register in destinations(instruction).into_iter().flatten() {
            self.write(instruction, register, value.clone(), state);
        }
    }

    /// Writes a register in the active lanes in which the guard holds.
    pub fn write(
        &mut self,
        instruction: &Instruction<'_>,
        register: Register,
        value: Value,
        state: &mut State,
    ) {
        let at = instruction.at;
        let value = match value {
            Value::Integer(integer) if integer.sum.excessive() => {
                Value::lost(at, "the arithmetic is too large to follow")
            }
            other => other,
        };
        let Some(old) = state.registers.get(register.0 as usize).cloned() else {
            return;
        };
        let new = match instruction.guard {
            None => value,
            Some((guard, negated)) => {
                let guard = self.value(&Operand::Register(guard), state, at);
                let guard = if negated { guard.negated() } else { guard };
                select(&guard, &value, &old, state, at)
            }
        };
        // What lanes that went another way hold is in their own state.
        if let Some(slot) = state.registers.get_mut(register.0 as usize) {
            *slot = new;
        }
    }

    /// Whether an instruction reads a parameter of the kernel or constant memory that is as good as one, also by an
    /// address that does not say which memory it lies in.
    fn reads_parameter(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> bool {
        let spaces = ["global", "shared", "local"];
        parts.contains(&"param")
            || !instruction.opcode.contains("shared")
                && !parts.iter().any(|p| spaces.contains(p))
                && instruction.operands.get(1).is_some_and(|address| {
                    match self.value(address, state, instruction.at) {
                        Value::Integer(address) => self.in_parameter(&address).is_some(),
                        _ => false,
                    }
                })
    }

    fn parameters(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
        count: usize,
    ) -> Vec<Value> {
        let at = instruction.at;
        let width = bits_of(parts).unwrap_or(32) / 8;
        let Some(address) = instruction.operands.get(1) else {
            return Vec::new();
        };
        let address = match self.value(address, state, at) {
            Value::Integer(address) => address,
            lost => return vec![lost.together(); count],
        };
        let Some((index, offset)) = self.in_parameter(&address) else {
            return vec![Value::lost(at, "which parameter it reads is not known"); count];
        };
        let end = i64::from(width) * i64::try_from(count).unwrap_or(i64::MAX);
        let inside = self.function.parameters.get(index).is_none_or(|p| {
            u64::try_from(offset).is_ok()
                && offset
                    .checked_add(end)
                    .is_some_and(|end| end.unsigned_abs() <= p.bytes)
        });
        if !inside {
            return vec![Value::lost(at, "it is read beyond the end of a parameter"); count];
        }
        if is_written(self.function, index) {
            let why = "something of the name of this parameter is written in the kernel";
            return vec![Value::lost(at, why); count];
        }
        if parts.iter().any(|p| matches!(*p, "f32" | "f64" | "f16")) {
            return vec![Value::lost(at, "floating-point numbers are not followed"); count];
        }
        let whole = self.function.parameters.get(index);
        let whole = whole.is_some_and(|p| p.bytes == u64::from(width) && offset == 0 && count == 1);
        let signed = parts.iter().any(|p| matches!(*p, "s8" | "s16"));
        let small = whole && !(signed && self.is_read_otherwise(index, parts));
        if !(matches!(width, 4 | 8) || matches!(width, 1 | 2) && small) {
            let why = "parts of parameters of less than 4 bytes are not followed";
            return vec![Value::lost(at, why); count];
        }
        (0..count)
            .map(|k| {
                let place = offset + i64::try_from(k).unwrap_or(0) * i64::from(width);
                if in_pieces(self.function, index, place..place + i64::from(width)) {
                    return Value::lost(at, "it is read in pieces that overlap");
                }
                Value::Integer(Integer::same(self.parameter(index, place, signed, state)))
            })
            .collect()
    }

    fn shuffle(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Value {
        let at = instruction.at;
        let mut operand = |index: usize| match instruction.operands.get(index) {
            Some(operand) => self.value(operand, state, at),
            None => Value::lost(at, "an operand is missing"),
        };
        let (value, lane, clamp) = (operand(1), operand(2), operand(3));
        let constant = |v: &Value| match v {
            Value::Integer(i) if i.lanes.is_none() => i.sum.as_constant(),
            _ => None,
        };
        // The lane that all read, if it is one that is here.
        let source = match (constant(&lane), constant(&clamp)) {
            (Some(lane), Some(31)) if parts.contains(&"idx") => usize::try_from(lane & 31).ok(),
            _ => None,
        };
        let source = source.filter(|lane| state.active >> lane & 1 == 1);
        if source.is_none() && state.active != u32::MAX {
            return Value::lost(
                at,
                "this may read a lane that has left, or that is elsewhere",
            );
        }
        let Value::Integer(value) = value else {
            return value.together();
        };
        if value.lanes.is_none() {
            return Value::Integer(value);
        }
        if let Some(lane) = source {
            return Value::Integer(Integer::same(value.lane(lane)));
        }
        Value::lost(at, "this exchange between lanes is not followed")
    }

    fn scalar(
        &mut self,
        instruction: &Instruction<'_>,
        parts: &[&str],
        state: &mut State,
    ) -> Value {
        let at = instruction.at;
        let operands: Vec<Value> = instruction
            .operands
            .iter()
            .skip(1)
            .map(|o| self.value(o, state, at))
            .collect();
        let name = parts.first().copied().unwrap_or_default();
        let lost = || Value::lost(at, format!("`{}` is not followed", instruction.opcode));
        match (name, operands.as_slice()) {
            ("mov", [Value::Integer(bit)]) if parts.contains(&"pred") => {
                return match bit.constants() {
                    Some(bits) => Value::Same(Condition::Constant(bits[0] != 0)),
                    None => lost(),
                };
            }
            ("mov", _) if matches!(instruction.operands.get(1), Some(Operand::Vector(_))) => {
                return self.packed(instruction, parts, state);
            }
            ("mov" | "cvta", [value]) => return value.clone(),
            ("ld", [Value::Integer(address)])
                if address.lanes.is_none()
                    && bits_of(parts) == Some(32)
                    && self.tensors.contains(&address.sum) =>
            {
                return Value::Integer(Integer::same(self.tensor_memory(state)));
            }
            ("ld", [Value::Integer(address)])
                if address.lanes.is_none() && !parts.contains(&"shared") =>
            {
                // Memory that the kernel promises to be constant is the same whenever it is read.
                if parts.contains(&"nc")
                    && let Some((signed, bits)) = parts.last().and_then(kind_of)
                {
                    if !self.guessing && self.may_change(&address.sum) {
                        return Value::lost(
                            at,
                            "it is read by `.nc` from memory to which the kernel may write",
                        );
                    }
                    let address = state.facts.rewritten(&address.sum);
                    let cell = Atom::Cell(Rc::new(address), Cell::of(signed, bits));
                    return Value::Integer(Integer::same(Sum::atom(cell)));
                }
                let Some(bits @ (32 | 64)) = bits_of(parts) else {
                    return lost();
                };
                let read = Meaning::Read(address.sum.clone(), bits / 8);
                let unknown = self.unknowns.fresh(read);
                state.facts.word(unknown);
                return Value::Integer(Integer::same(Sum::unknown(unknown)));
            }
            ("ld", _) => return Value::lost(at, "it is read from memory"),
            ("selp", [yes, no, condition]) => return select(condition, yes, no, state, at),
            ("slct", operands) => {
                let chosen = self.chosen_by_sign(instruction, operands, parts, state);
                return chosen.unwrap_or_else(lost);
            }
            ("and" | "or" | "xor" | "not", [first, ..]) if parts.contains(&"pred") => {
                let second = operands.get(1).unwrap_or(first);
                return logical(name, first, second, at);
            }
            _ => {}
        }
        if name == "cvt"
            && let Some(Operand::Register(register)) = instruction.operands.first()
            && let Some((_, to @ (16 | 32))) = parts.iter().rev().nth(1).and_then(kind_of)
            && read_wider(self.function, *register, to)
        {
            return Value::lost(at, "it is read in more bits than are written to it");
        }
        let lacking = |v: &&Value| matches!(v, Value::Lost(_) | Value::Groups(..));
        if let Some(lost) = operands.iter().find(lacking) {
            return lost.clone().together();
        }
        let integers: Option<Vec<&Integer>> = operands
            .iter()
            .map(|v| match v {
                Value::Integer(integer) => Some(integer),
                _ => None,
            })
            .collect();
        let Some(integers) = integers else {
            return lost();
        };
        // Other modifiers change the result: `.sat` and `.relu` cut it off.
        let told = |part: &&str| kind_of(part).is_some() || MODIFIERS.contains(part);
        if name != "mapa" && !parts.iter().skip(1).all(told) {
            return lost();
        }
        self.note_words(&integers);
        // A product that is shifted down by half its width is divided by a constant: that is written as such.
        let divides = name == "shr"
            && parts.last() == Some(&"u64")
            && matches!(integers.as_slice(), [_, by] if by.sum.as_constant() >= Some(32));
        let around = |state: &State, small| all_around(name, parts, &integers, state, small);
        let known = if divides { None } else { around(state, false) };
        let known = known.or_else(|| self.arithmetic(name, parts, &integers, state, at));
        let known = known.or_else(|| around(state, false));
        let known = known.or_else(|| self.bitwise(name, &integers, bits_of(parts)?, state));
        let known = known.or_else(|| around(state, true));
        match known {
            Some(integer) => Value::Integer(integer),
            None => Value::lost(
                at,
                format!(
                    "`{}` of these values is not followed, or may wrap around",
                    instruction.opcode
                ),
            ),
        }
    }

    fn arithmetic(
        &mut self,
        name: &str,
        parts: &[&str],
        operands: &[&Integer],
        state: &mut State,
        at: usize,
    ) -> Option<Integer> {
        let bits = bits_of(parts)?;
        let signed = parts.last().is_some_and(|p| p.starts_with('s'));
        let constants: Option<Vec<[i128; 32]>> = operands.iter().map(|i| i.constants()).collect();
        if let Some(constants) = constants
            && name != "cvt"
            && name != "mapa"
        {
            let mut lanes = [0; 32];
            for (lane, value) in lanes.iter_mut().enumerate() {
                let one: Vec<i128> = constants.iter().map(|c| c[lane]).collect();
                *value = concrete(name, parts, &one, signed, bits)?;
            }
            return Some(Integer::lanes(lanes));
        }
        let small = |index: usize| {
            let integer = operands.get(index)?;
            if integer.lanes.is_some() {
                return None;
            }
            integer.sum.as_constant()
        };
        match (name, operands) {
            ("add", [a, b]) => Some(a.plus_times(b, 1)),
            ("sub", [a, b]) => Some(a.plus_times(b, -1)),
            ("neg", [a]) => Some(a.scaled(-1)),
            ("not", [a]) => Some(a.scaled(-1).plus_times(&Integer::same(Sum::of(1)), -1)),
            ("mul" | "mad", [a, b, rest @ ..]) => {
                let (a, b) = if parts.contains(&"wide") {
                    (
                        self.read(a, signed, bits, state, at)?,
                        self.read(b, signed, bits, state, at)?,
                    )
                } else if parts.contains(&"hi") {
                    let (x, factor) = match (small(0), small(1)) {
                        (_, Some(factor)) => (a, factor),
                        (Some(factor), _) => (b, factor),
                        _ => return None,
                    };
                    if signed {
                        self.runs_on(x, bits, state, at);
                    }
                    let x = self.read(x, signed, bits, state, at)?;
                    let factor = wrap(factor, signed, bits);
                    if !rest.is_empty() || x.lanes.is_some() || factor <= 0 {
                        return None;
                    }
                    // What is computed with the product below has to fit, too.
                    let (low, high) = state.facts.range(&x.sum);
                    let most = low.unsigned_abs().max(high.unsigned_abs());
                    let product_bits = most.checked_ilog2().unwrap_or(0) + factor.ilog2();
                    if product_bits > MOST_PRODUCT_BITS {
                        return None;
                    }
                    let product = x.sum.scaled(factor);
                    let quotient = scaled_down(&state.facts, &product, 1 << bits)?;
                    // If it is no division yet, a shift to the right may follow that needs the product.
                    let plain = state.facts.quotient(&product, &Sum::of(1 << bits));
                    let whole = quotient.as_constant().is_some() || plain != Some(quotient.clone());
                    return Some(Integer::same(if whole {
                        quotient
                    } else {
                        let power = Rc::new(Sum::of(1 << bits));
                        Sum::atom(Atom::Quotient(Rc::new(product), power))
                    }));
                } else {
                    ((*a).clone(), (*b).clone())
                };
                let product = multiplied(&a, &b)?;
                match rest {
                    [] => Some(product),
                    [c] => Some(product.plus_times(c, 1)),
                    _ => None,
                }
            }
            ("shl", [a, _]) => {
                let by = small(1)?;
                if !(0..i128::from(bits)).contains(&by) {
                    return Some(Integer::same(Sum::of(0)));
                }
                Some(kept(&a.scaled(1 << by), bits))
            }
            ("shr" | "div" | "rem", [a, b]) => {
                if signed || name == "shr" && small(1) == Some(i128::from(bits) - 1) {
                    self.runs_on(a, bits, state, at);
                }
                let sign = match name {
                    "shr" if !signed && a.lanes.is_none() => signs(&state.facts, &a.sum),
                    _ => None,
                };
                let read = match sign {
                    Some(sign) => {
                        let all = Sum::of((1 << bits) - 1);
                        let sum = state.facts.choice(&sign, &all, &Sum::of(0));
                        Some(Integer::same(sum))
                    }
                    None => self.read(a, signed, bits, state, at),
                };
                // What wraps around is written as it does: where only some bits are taken, that may not matter.
                let wrapped = || {
                    let plain = name == "shr" && !signed && a.lanes.is_none();
                    let full = Sum::of(1 << bits);
                    plain
                        .then(|| state.facts.modulo(&a.sum, &full))?
                        .map(Integer::same)
                };
                let a = match read {
                    Some(a) => a,
                    None => wrapped()?,
                };
                let by = if name == "shr" {
                    let by = small(1)?;
                    if !(0..i128::from(bits)).contains(&by) {
                        return None;
                    }
                    Sum::of(1 << by)
                } else {
                    // Division rounds toward 0, which is down only where nothing is negative.
                    let least = a.lanes.iter().flat_map(|lanes| lanes.iter()).min();
                    let least = a.sum.plus_constant(least.copied().unwrap_or(0));
                    if !state.facts.is_positive(&least) || b.lanes.is_some() {
                        return None;
                    }
                    let by = self.read(b, signed, bits, state, at)?.sum;
                    self.divides(&by, state, at);
                    by
                };
                if a.lanes.is_some() {
                    let (quotient, by) = (divided(&a, &by)?, by.as_constant()?);
                    return Some(match name {
                        "rem" => a.plus_times(&quotient, -by),
                        _ => quotient,
                    });
                }
                // Of a choice of two numbers each is shifted.
                if let Some((Atom::Choice(which, yes, no), 1)) = a.sum.single()
                    && let (Some(yes), Some(no)) = (yes.as_constant(), no.as_constant())
                    && let ("shr", Some(by)) = (name, by.as_constant())
                {
                    let shifted = |x: i128| Sum::of(x.div_euclid(by));
                    let sum = state.facts.choice(which, &shifted(yes), &shifted(no));
                    return Some(Integer::same(sum));
                }
                let halved = (name == "shr")
                    .then(|| within(&a.sum, by.as_constant()?))
                    .flatten();
                if let Some((product, power)) = halved {
                    let quotient = shifted_down(&state.facts, &product, power)?;
                    return Some(Integer::same(quotient));
                }
                if name == "shr"
                    && let Some((Atom::Quotient(product, power), 1)) = a.sum.single()
                    && let (Some(power), Some(by)) = (power.as_constant(), by.as_constant())
                    && product.terms.values().all(|factor| factor.abs() > 1)
                {
                    let quotient = shifted_down(&state.facts, product, power * by)?;
                    return Some(Integer::same(quotient));
                }
                let far = name == "shr" && by.as_constant().is_some_and(|by| by >= 1 << 16);
                let quotient = match by.as_constant() {
                    Some(power) if far => shifted_down(&state.facts, &a.sum, power)?,
                    _ => state.facts.quotient(&a.sum, &by)?,
                };
                Some(Integer::same(if name == "rem" {
                    a.sum.minus(&quotient.times(&by))
                } else {
                    quotient
                }))
            }
            ("and", [a, b]) => {
                let (value, mask) = match (small(0), small(1)) {
                    (_, Some(mask)) => (a, mask),
                    (Some(mask), _) => (b, mask),
                    _ => return None,
                };
                let mask = wrap(mask, false, bits);
                if bits == 32
                    && value.lanes.is_none()
                    && let Some(leader) = self.in_leader(&value.sum, mask, state)
                {
                    return Some(Integer::same(leader));
                }
                if let Some(address) = self.cleared(value, mask, state) {
                    return Some(Integer::same(address));
                }
                masked(value, mask, bits, state)
            }
            ("or", [a, b]) => {
                let (value, bit) = match (small(0), small(1)) {
                    (_, Some(bit)) => (a, bit),
                    (Some(bit), _) => (b, bit),
                    _ => return None,
                };
                let bit = wrap(bit, false, bits);
                // While a guess is made, nothing has to fit.
                if self.guessing {
                    return Some(value.plus_times(&Integer::same(Sum::of(bit)), 1));
                }
                let terms = value.sum.terms.iter();
                let multiples = terms.map(|(atom, factor)| factor * self.multiple(atom));
                beside(value, bit, multiples.collect(), state)
            }
            ("xor", [a, b])
                if bits == 32
                    && let Some(changed) = self.flipped(a, b, state) =>
            {
                Some(changed)
            }
            // Bits of shared addresses by alignment, others by what is counted.
            ("xor", [a, b]) => self
                .bitwise(name, operands, bits, state)
                .or_else(|| exclusive(a, b, bits, state)),
            ("min" | "max", [a, b]) => {
                let a = self.read(a, signed, bits, state, at)?;
                let b = self.read(b, signed, bits, state, at)?;
                if a.lanes.is_some() || b.lanes.is_some() {
                    return None;
                }
                let less = Condition::Negative(a.sum.minus(&b.sum));
                let (yes, no) = if name == "min" {
                    (&a.sum, &b.sum)
                } else {
                    (&b.sum, &a.sum)
                };
                Some(Integer::same(state.facts.choice(&less, yes, no)))
            }
            ("bfe", [a, _, _]) => {
                let (from, length) = (small(1)?, small(2)?);
                if from + length > i128::from(bits) || length <= 0 || from < 0 {
                    return None;
                }
                let mask = ((1i128 << length) - 1) << from;
                let field = masked(a, mask, bits, state)?;
                // Of the highest bits nothing has been cut off: neither a sign nor what wraps around.
                let (low, high) = field.range(&state.facts);
                if low < 0 || high >= 1 << bits {
                    return None;
                }
                if field.lanes.is_some() {
                    return (!signed).then(|| divided(&field, &Sum::of(1 << from)))?;
                }
                let sum = state.facts.quotient(&field.sum, &Sum::of(1 << from))?;
                if !signed {
                    return Some(Integer::same(sum));
                }
                let sign = state.facts.quotient(&sum, &Sum::of(1 << (length - 1)))?;
                Some(Integer::same(sum.plus_times(&sign, -(1 << length))))
            }
            ("bfi", [a, b, _, _]) => {
                let (from, length) = (small(2)?, small(3)?);
                if from < 0 || length < 0 || from + length > i128::from(bits) {
                    return None;
                }
                // Where nothing has to be cut away, the two are put side by side.
                let (a, b) = (
                    self.read(a, false, bits, state, at)?,
                    self.read(b, false, bits, state, at)?,
                );
                let (low, high) = a.range(&state.facts);
                let (least, most) = b.range(&state.facts);
                let fits = low >= 0 && high < 1 << length && least >= 0 && most < 1 << from;
                fits.then(|| b.plus_times(&a, 1 << from))
            }
            ("cvt", [a]) => {
                let from = kind_of(parts.last()?)?;
                let to = kind_of(parts.get(parts.len().checked_sub(2)?)?)?;
                if to.1 > from.1 && from.1 < 32 && self.is_of_launch(a) {
                    // Who takes the low bits of a size wants those. That there are no others is not assumed.
                    let surely = std::mem::replace(&mut self.sure, true);
                    let read = self.read(a, from.0, from.1, state, at);
                    self.sure = surely;
                    read.or_else(|| low_bits(a, from, state))
                } else if to.1 > from.1 {
                    self.read(a, from.0, from.1, state, at)
                        .or_else(|| self.around(a, from, state))
                } else if to.1 == 8 && from.1 > 8 {
                    // No register is as narrow: the rest of it is filled up.
                    let low = masked(a, 255, bits, state)?;
                    self.read(&low, to.0, 8, state, at)
                } else {
                    Some(narrowed(a, to.1))
                }
            }
            ("mapa", [a, ranks]) if ranks.lanes.is_some() => self.in_peers(a, ranks, state),
            ("mapa", [a, _]) => {
                let rank = u32::try_from(small(1)?).ok()?;
                if rank >= self.launch.ranks() {
                    return None;
                }
                Some(Integer {
                    sum: self.in_peer(&a.sum, rank, state),
                    lanes: a.lanes.clone(),
                })
            }
            _ => None,
        }
    }
}

/// What an instruction on bits makes of values that come around, or are small, too. Sums and products are followed as they are.
fn all_around(
    name: &str,
    parts: &[&str],
    operands: &[&Integer],
    state: &State,
    small: bool,
) -> Option<Integer> {
    let bitwise = matches!(
        name,
        "and"
            | "or"
            | "xor"
            | "not"
            | "shl"
            | "shr"
            | "bfe"
            | "div"
            | "rem"
            | "min"
            | "max"
            | "cvt"
    );
    let bits = bits_of(parts)?;
    let plain = !operands.is_empty() && operands.iter().all(|operand| operand.lanes.is_none());
    if !bitwise || !plain {
        return None;
    }
    let signed = parts.last().is_some_and(|part| part.starts_with('s'));
    let sums: Vec<&Sum> = operands.iter().map(|operand| &operand.sum).collect();
    let computed = |values: &[i128]| match (name, values) {
        ("cvt", [value]) => {
            let from = kind_of(parts.last()?)?;
            let to = kind_of(parts.get(parts.len().checked_sub(2)?)?)?;
            let read = wrap(*value, from.0, from.1);
            // No register is as narrow: the rest of it is filled up.
            let narrow = to.1 == 8 && from.1 > 8;
            Some(if narrow { wrap(read, to.0, 8) } else { read })
        }
        ("cvt", _) => None,
        // What is written as a negative number stays one.
        ("or" | "xor", [a, b]) => {
            let result = concrete(name, parts, values, signed, bits)?;
            Some(wrap(result, *a < 0 || *b < 0, bits))
        }
        _ => concrete(name, parts, values, signed, bits),
    };
    let result = if small {
        state.facts.pointwise_here(&sums, &computed)
    } else {
        state.facts.pointwise(&sums, &computed)
    };
    result.map(Integer::same)
}

/// Whether something is written that has the name of a parameter of the kernel: an inner scope may give it to a parameter
/// of a call.
pub(in crate::ptx) fn is_written(function: &Function<'_>, index: usize) -> bool {
    let Some(parameter) = function.parameters.get(index) else {
        return false;
    };
    function.code.iter().any(|instruction| {
        let address = instruction.operands.first();
        instruction.opcode.starts_with("st.param")
            && matches!(address, Some(Operand::Address { base, .. }) if **base == Operand::Name(parameter.name))
    })
}

/// The registers that an instruction writes, in order. Those that only read have their first operand
/// among what they read.
pub(in crate::ptx) fn destinations(instruction: &Instruction<'_>) -> Vec<Option<Register>> {
    let mut parts = instruction.parts();
    let reads = match parts.next().unwrap_or_default() {
        "bar" | "barrier" => !instruction.has("red"),
        "tcgen05" => instruction.has("dealloc"),
        "st" | "red" | "bra" | "nanosleep" | "setmaxnreg" | "prefetch" => true,
        _ => false,
    };
    match instruction.operands.first() {
        Some(first) if !reads => targets(first),
        _ => Vec::new(),
    }
}

/// The registers that a destination names, in order.
fn targets(operand: &Operand<'_>) -> Vec<Option<Register>> {
    match operand {
        Operand::Register(register) => vec![Some(*register)],
        Operand::Pair(pair) => {
            let mut all = targets(&pair.0);
            if all.is_empty() {
                all.push(None);
            }
            all.extend(targets(&pair.1));
            all
        }
        Operand::Vector(parts) => parts
            .iter()
            .map(|p| match p {
                Operand::Register(register) => Some(*register),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

pub(super) fn select(
    condition: &Value,
    yes: &Value,
    no: &Value,
    state: &State,
    at: usize,
) -> Value {
    if yes == no {
        return yes.clone();
    }
    match condition {
        Value::Mask(mask) if mask & state.active == state.active => yes.clone(),
        Value::Mask(mask) if mask & state.active == 0 => no.clone(),
        Value::Mask(mask) => Value::by_lane(*mask, yes, no, at),
        Value::Parted(parts) => {
            let mut chosen = no.clone();
            for (lanes, condition) in parts.iter() {
                let here = Value::choice(condition, yes, no, &state.facts, at);
                chosen = Value::by_lane(*lanes, &here, &chosen, at);
            }
            chosen
        }
        Value::Same(condition) => Value::choice(condition, yes, no, &state.facts, at),
        Value::Lost(_) => condition.clone(),
        Value::Integer(_) | Value::Groups(..) | Value::Token(_) => {
            Value::lost(at, "an integer stands where a predicate is needed")
        }
    }
}

/// The sign and the width of a type.
pub(in crate::ptx) fn kind_of(part: &&str) -> Option<(bool, u32)> {
    let signed = part.starts_with('s');
    let digits = part.strip_prefix(['s', 'u', 'b'])?;
    match digits {
        "8" | "16" | "32" | "64" => Some((signed, digits.parse().ok()?)),
        _ => None,
    }
}

pub(in crate::ptx) fn bits_of(parts: &[&str]) -> Option<u32> {
    parts.iter().rev().find_map(kind_of).map(|(_, bits)| bits)
}
