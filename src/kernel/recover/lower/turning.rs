//! Phase bits that are toggled by a ring and whose first value the launch gives.
//!
//! ```text
//! phase = n / 4 % 2; stage = 0
//! loop { ..; stage = stage == 3 ? 0 : stage + 1; phase ^= (stage == 0) }
//! ```
//!
//! Such a register occurs in the remainder loop behind an unrolled loop. Its value is the exclusive
//! or of its first value and the number of toggles so far, modulo 2. A period of the ring has a
//! fixed number of toggles. So this parity repeats with the period of the ring if that number is
//! even, and otherwise with twice the period.

use super::Lowerer;
use super::table::periodic;
use crate::meaning::Binary;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Phi;

impl Lowerer<'_> {
    /// The value of a register of 0 and 1 in each iteration of its loop, if a ring toggles it that
    /// makes one step in each iteration.
    pub(super) fn turning(&mut self, phi: u32) -> Option<Number> {
        let Phi {
            in_loop,
            first,
            next,
        } = self.arena.phis[phi as usize].clone();
        let width = self.arena.terms.width_of(first);
        let own = self.arena.terms.atom(Atom::Phi(phi), width);
        let turn = self.turned_by(next, own)?;
        let (turns, steps, tail) = self.table(turn)?;
        if tail > 0 || steps != Number::of(Atomic::Index(in_loop)) {
            return None;
        }
        let mut turned = Vec::new();
        let mut now = 0;
        for bit in turns.iter().chain(&turns) {
            turned.push(now);
            now ^= i128::try_from(*bit).ok().filter(|bit| *bit <= 1)?;
        }
        let turned = periodic(&turned, &steps)?;
        let first = self.number(first)?;
        if !matches!(self.range(&first)?, (0.., ..=1)) {
            return None;
        }
        sum_of_bits(&first, &turned)
    }

    /// What toggles a register, if something does.
    fn turned_by(&self, next: TermId, own: TermId) -> Option<TermId> {
        let Node::Binary(Binary::Xor, a, b) = *self.arena.terms.node(next) else {
            return None;
        };
        let turn = match (a == own, b == own) {
            (true, false) => b,
            (false, true) => a,
            _ => return None,
        };
        let Node::Atom(own) = self.arena.terms.node(own) else {
            return None;
        };
        let turns_itself = self.arena.terms.atoms(turn).contains(own);
        (!turns_itself).then_some(turn)
    }
}

/// The exclusive or of two numbers that are 0 or 1.
fn sum_of_bits(a: &Number, b: &Number) -> Option<Number> {
    let whole = |number: &Number| match number.parts.first_key_value() {
        Some((Atomic::Remainder(inner, 2), 1))
            if *number == Number::of(Atomic::Remainder(inner.clone(), 2)) =>
        {
            (**inner).clone()
        }
        _ => number.clone(),
    };
    whole(a).plus(&whole(b))?.remainder(2)
}
