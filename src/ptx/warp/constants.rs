//! Which words of memory may be numbers of the launch, and where that matters.

use super::machine::Machine;
use super::machine::Meaning;
use super::term::Atom;
use super::term::Sum;
use super::term::Unknown;
use super::value::Integer;

impl Machine<'_, '_> {
    /// Whether the kernel may write what lies at an address, beyond what is assumed of pointers.
    pub(super) fn may_change(&self, address: &Sum) -> bool {
        if self.words.written.is_nothing() {
            return false;
        }
        let mut bases = Vec::new();
        for (atom, factor) in &address.terms {
            // What is scaled is no pointer.
            if *factor != 1 {
                continue;
            }
            let wide = || self.unknowns.1.range(&Sum::atom(atom.clone())).1 > 1 << 32;
            match atom {
                Atom::Unknown(unknown) => match self.unknowns.meaning(*unknown) {
                    Some(Meaning::Parameter(index, offset)) if wide() => {
                        bases.push((*index, *offset));
                    }
                    Some(Meaning::Environment(_) | Meaning::Read(_, 8)) => return true,
                    _ => {}
                },
                Atom::Cell(_, cell) if cell.bytes == 8 => return true,
                Atom::Choice(..) if wide() => return true,
                _ => {}
            }
        }
        match bases.as_slice() {
            [base] => self.words.written.parameters.contains(base),
            _ => true,
        }
    }

    /// Notes that words from memory are computed with, or put in an order: how large they are is known as they are taken not
    /// to be negative, which has to be said.
    pub(super) fn note_words(&mut self, integers: &[&Integer]) {
        let word = |u: Unknown| matches!(self.unknowns.meaning(u), Some(Meaning::Read(..)));
        let reads = |sum: &Sum| sum.reads_memory() || sum.mentions(&word);
        let read = integers.iter().any(|i| reads(&i.sum));
        self.words.unsigned |= read && !self.guessing;
        self.note_constants(integers);
    }

    /// Notes that something depends on words that are taken to be constant.
    pub(super) fn note_constants(&mut self, integers: &[&Integer]) {
        let read = integers.iter().any(|i| i.sum.reads_memory());
        self.words.constant |= read && !self.guessing;
    }
}
