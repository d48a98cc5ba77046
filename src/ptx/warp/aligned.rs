//! Facts about shared addresses from the layout of variables: their bounds and their alignment.

use super::machine::COLUMNS;
use super::machine::Machine;
use super::machine::Meaning;
use super::machine::State;
use super::machine::TENSOR;
use super::term::Atom;
use super::term::Sum;
use super::value::Integer;
use crate::ptx::operations::descriptor::LARGEST_ATOM;
use crate::ptx::operations::descriptor::REACHED;
use crate::ptx::operations::descriptor::aligned;
use crate::ptx::syntax::ast::Variable;

/// What the system keeps of a CTA's shared memory, before everything else.
const RESERVED: i128 = 2048;

impl Machine<'_, '_> {
    /// The most that the address of a shared variable may be: a CTA's shared memory has less than 2^18 bytes,
    /// and what the launch decides the size of lies after everything else.
    pub fn begins_below(&self, name: &str) -> i128 {
        let bytes = |v: &Variable<'_>| i128::from(v.bytes) + i128::from(v.align);
        match self.shared.iter().find(|v| v.name == name) {
            Some(variable) if variable.bytes > 0 => (REACHED - i128::from(variable.bytes)).max(0),
            _ => {
                let before: i128 = self.shared.iter().map(bytes).sum();
                (RESERVED + before).min(REACHED - 1)
            }
        }
    }

    /// Where the tensor memory lies that a CTA has allocated: lanes count from bit 16 on, columns below.
    pub fn tensor_memory(&mut self, state: &mut State) -> Sum {
        let unknown = self.unknowns.of(Meaning::Shared(TENSOR.to_owned()));
        self.unknowns.bound(unknown, 0, COLUMNS - 32, state);
        Sum::unknown(unknown)
    }

    /// A shared address, in bytes or in units of 16 bytes, with bits cleared that descriptors do not have, and
    /// low ones that alignment tells.
    pub fn cleared(&self, address: &Integer, mask: i128, state: &State) -> Option<Sum> {
        let low = 1i128 << mask.trailing_zeros().min(100);
        let end = mask + low;
        if address.lanes.is_some() || end != REACHED && end != REACHED / 16 {
            return None;
        }
        if self.guessing {
            return Some(address.sum.clone());
        }
        let (least, most) = state.facts.range(&address.sum);
        if least < 0 || most >= end {
            return None;
        }
        let mut rest = address.sum.clone();
        for (atom, factor) in &address.sum.terms {
            if (factor * self.multiple(atom)) % low == 0 {
                rest.terms.remove(atom);
            }
        }
        let below = state.facts.modulo(&rest, &Sum::of(low))?;
        Some(address.sum.minus(&below))
    }

    /// Shared variables with dynamic shared memory aligned as the largest swizzled atom is. It begins after what
    /// the system keeps, which is a multiple of that, where no other variable lies in between.
    pub fn leveled(&self) -> Option<Vec<Variable<'_>>> {
        if self.shared.iter().any(|variable| variable.bytes > 0) {
            return None;
        }
        let leveled = self.shared.iter().cloned().map(|mut variable| {
            variable.align = variable.align.max(LARGEST_ATOM);
            variable
        });
        Some(leveled.collect())
    }

    /// A power of two that an atom is certainly a multiple of.
    pub fn multiple(&self, atom: &Atom) -> i128 {
        match atom {
            Atom::Quotient(bytes, units) if units.as_constant() == Some(16) => {
                (aligned(bytes, self.unknowns, self.shared) / 16).max(1)
            }
            atom => aligned(&Sum::atom(atom.clone()), self.unknowns, self.shared),
        }
    }
}
