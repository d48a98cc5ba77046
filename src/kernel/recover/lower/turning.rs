//! Phases that turn with a ring and begin with what the launch gives.
//!
//! ```text
//! phase = n / 4 % 2; stage = 0
//! loop { ..; stage = stage == 3 ? 0 : stage + 1; phase ^= (stage == 0) }
//! ```
//!
//! Behind a loop that was written out four times, a loop of the rounds that are left over begins with such a phase. The register is
//! what it was at first, turned so often as the ring has said so: the number of turns up to each step comes around when
//! the ring does, or when it has come around twice.

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
    /// What a register of 0 and 1 is in each iteration of its loop that a ring turns, one step of which is one iteration.
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

    /// What a register is turned by, if it is turned.
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
