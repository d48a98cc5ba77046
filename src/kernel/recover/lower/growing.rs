//! Counters that never fall: the number that stands for one in the text is at least 0.
//!
//! For example, `c` in `c = 0; for .. { for .. { c += 1 } }` begins at 0 and only grows, so
//! `c >= 0` is known. A counter that counts down from 3000 is negative after 3001 iterations, and
//! nothing is known of it. It is assumed that a counter does not wrap around.

use super::Lowerer;
use super::carried::MAX_CHOICES;
use crate::recover::launch::is_launch;
use crate::recover::sides::sides;
use crate::recover::term::Atom;
use crate::recover::term::TermId;

/// How a counter grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By 0 or 1 at a time.
    Ones,
    /// By other numbers, none of which is negative.
    More,
}

impl Lowerer<'_> {
    /// How a variable that several loops move grows. `None` if it may fall, except where it begins.
    pub(super) fn growth(&mut self, variable: usize) -> Option<Growth> {
        let info = self.recurrences.variables[variable].clone();
        let mut growth = Growth::Ones;
        for phi in &info.phis {
            let record = self.arena.phis[*phi as usize].clone();
            let first = (info.root != Some(*phi)).then_some(record.first);
            for term in first.into_iter().chain([record.next]) {
                if self.grows_to(term, &info.phis, MAX_CHOICES)? == Growth::More {
                    growth = Growth::More;
                }
            }
        }
        Some(growth)
    }

    /// By how much a term is more than one of these phis, or that it is at least 0 without them.
    fn grows_to(&mut self, term: TermId, phis: &[u32], choices: u32) -> Option<Growth> {
        let atoms = self.arena.terms.atoms(term);
        let mut own = atoms
            .iter()
            .filter(|atom| matches!(atom, Atom::Phi(phi) if phis.contains(phi)));
        if let Some((_, sides)) = sides(term, &mut self.arena.terms) {
            let choices = choices.checked_sub(1)?;
            let [a, b] = sides;
            let ways = [
                self.grows_to(a, phis, choices)?,
                self.grows_to(b, phis, choices)?,
            ];
            return Some(match ways.contains(&Growth::More) {
                true => Growth::More,
                false => Growth::Ones,
            });
        }
        let added = match (own.next(), own.next()) {
            (None, _) => term,
            (Some(atom), None) => {
                let width = self.arena.terms.width_of(term);
                let atom = self.arena.terms.atom(*atom, width);
                self.arena.terms.difference(term, atom)
            }
            _ => return None,
        };
        match self.arena.terms.signed(added) {
            Some(0 | 1) => return Some(Growth::Ones),
            Some(number) => return (number >= 0).then_some(Growth::More),
            None => {}
        }
        let number = is_launch(added, &self.arena.terms)
            .then(|| self.number(added))
            .flatten()?;
        self.is_natural(&number).then_some(Growth::More)
    }
}
