//! The values of phis at a point of the role that is being written.
//!
//! The value of a phi may be known on one side of a branch only. For example, a loop inside of the branch gives the phi its
//! value, or changes the variable of the role that stood for it. So each value is kept with the outcomes of branches under
//! which it holds. Behind the branch, a term may use it only as an operand of a select on the same condition.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Lowerer;
use crate::meaning::Binary;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// How many paths to a point a meaning may have.
const MAX_WAYS: usize = 12;

/// The value of a phi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhiValue {
    Number(Number),
    /// The state of a machine after so many steps.
    State {
        machine: usize,
        steps: Number,
    },
}

/// A condition that was decided by a branch, as a term and lowered.
pub type Decided = (TermId, Condition);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    meaning: PhiValue,
    /// It holds on paths on which all conditions of one of these were decided so.
    ways: Vec<Vec<Decided>>,
}

/// The known values of phis.
#[derive(Debug, Clone, Default)]
pub struct PhiValues {
    of: BTreeMap<u32, Entry>,
}

impl PhiValues {
    pub fn insert(&mut self, phi: u32, meaning: PhiValue) {
        let entry = Entry {
            meaning,
            ways: vec![Vec::new()],
        };
        self.of.insert(phi, entry);
    }

    /// The same where a condition was decided so.
    pub fn insert_under(&mut self, phi: u32, meaning: PhiValue, decided: Decided) {
        let ways = vec![vec![decided]];
        self.of.insert(phi, Entry { meaning, ways });
    }

    /// Whether a phi has a meaning, under some conditions at least.
    pub fn is_known(&self, phi: u32) -> bool {
        self.of.contains_key(&phi)
    }

    pub fn remove(&mut self, phi: u32) {
        self.of.remove(&phi);
    }

    /// Behind a loop: keeps states from before it, of phis that are not the loop's `own`, if the
    /// loop has not assigned their variables.
    pub fn keep(&mut self, before: &Self, own: &[u32], assigned: &BTreeSet<u32>) {
        for (phi, entry) in &before.of {
            let PhiValue::State { steps, .. } = &entry.meaning else {
                continue;
            };
            let moved = steps.mentions(&|atomic| match atomic {
                Atomic::Variable(variable) => assigned.contains(variable),
                _ => false,
            });
            if !moved && !own.contains(phi) {
                self.of.entry(*phi).or_insert_with(|| entry.clone());
            }
        }
    }

    pub fn forget_machine(&mut self, machine: usize) {
        self.of.retain(|_, entry| {
            !matches!(&entry.meaning, PhiValue::State { machine: other, .. } if *other == machine)
        });
    }

    /// The values of phis behind a branch, from their values at the ends of its sides.
    pub fn joined(then: Self, mut otherwise: Self, yes: &Decided, no: Option<&Decided>) -> Self {
        let mut of = BTreeMap::new();
        let under = |ways: Vec<Vec<Decided>>, decided: &Decided| -> Vec<Vec<Decided>> {
            ways.into_iter()
                .map(|mut way| {
                    if !way.contains(decided) {
                        way.push(decided.clone());
                    }
                    way
                })
                .collect()
        };
        let mut put = |phi: u32, meaning: PhiValue, ways: Vec<Vec<Decided>>| {
            if !ways.is_empty() && ways.len() <= MAX_WAYS {
                of.insert(phi, Entry { meaning, ways });
            }
        };
        for (phi, entry) in then.of {
            match otherwise.of.remove(&phi) {
                None => put(phi, entry.meaning, under(entry.ways, yes)),
                Some(other) if other == entry => put(phi, entry.meaning, entry.ways),
                Some(other) if other.meaning == entry.meaning => {
                    let mut ways = under(entry.ways, yes);
                    ways.extend(no.map(|no| under(other.ways, no)).unwrap_or_default());
                    put(phi, entry.meaning, ways);
                }
                Some(_) => {}
            }
        }
        for (phi, entry) in otherwise.of {
            let ways = no.map(|no| under(entry.ways, no));
            put(phi, entry.meaning, ways.unwrap_or_default());
        }
        Self { of }
    }
}

impl Lowerer<'_> {
    /// What a phi means at this point.
    pub(super) fn phi_value(&self, phi: u32) -> Option<&PhiValue> {
        let entry = self.phi_values.of.get(&phi)?;
        entry
            .ways
            .iter()
            .any(|way| way.iter().all(|decided| self.is_decided(decided)))
            .then_some(&entry.meaning)
    }

    fn is_decided(&self, (term, condition): &Decided) -> bool {
        self.is_held(*term) || self.known(condition) == Some(true)
    }

    /// Whether a condition is one of those around this point.
    pub(super) fn is_held(&self, term: TermId) -> bool {
        self.held.iter().any(|held| self.implies(*held, term))
    }

    fn implies(&self, held: TermId, term: TermId) -> bool {
        held == term
            || match self.arena.terms.node(held) {
                Node::Binary(Binary::And, a, b) => self.implies(*a, term) || self.implies(*b, term),
                _ => false,
            }
    }
}
