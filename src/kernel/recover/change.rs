//! How the variables of a machine ([`crate::recover::recurrence`]) change at the entry of a loop or
//! at the end of an iteration.

use std::collections::BTreeMap;

use crate::recover::term::TermId;

/// By how many steps a machine moves at the entry or at the end of the iterations of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steps {
    By(usize),
    /// To the state with this number, from any state, as at a loop that begins anew.
    To(usize),
    /// It depends on a condition outside of the machine.
    If(TermId, Box<Steps>, Box<Steps>),
}

/// The new values of variables of a machine: places of variables, and terms over the old values.
#[derive(Debug, Clone)]
pub(super) enum Change {
    To(Vec<(usize, TermId)>),
    If(TermId, Box<Change>, Box<Change>),
}

/// How a change moves every state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    By(usize),
    To(usize),
}

/// A path through the conditions of a change, and the new values at its end.
pub(super) type Way<'c> = (Vec<bool>, &'c [(usize, TermId)]);

impl Change {
    pub(super) fn ways(&self) -> Vec<Way<'_>> {
        match self {
            Self::To(terms) => vec![(Vec::new(), terms)],
            Self::If(_, yes, no) => {
                let mut all = Vec::new();
                for (truth, side) in [(true, yes), (false, no)] {
                    for (mut path, terms) in side.ways() {
                        path.insert(0, truth);
                        all.push((path, terms));
                    }
                }
                all
            }
        }
    }

    pub(super) fn steps(&self, of: &BTreeMap<Vec<bool>, Move>, path: &mut Vec<bool>) -> Steps {
        match self {
            Self::To(_) => match of.get(path) {
                Some(Move::By(steps)) => Steps::By(*steps),
                Some(Move::To(state)) => Steps::To(*state),
                None => Steps::By(0),
            },
            Self::If(condition, yes, no) => {
                path.push(true);
                let yes = yes.steps(of, path);
                path.pop();
                path.push(false);
                let no = no.steps(of, path);
                path.pop();
                if yes == no {
                    yes
                } else {
                    Steps::If(*condition, Box::new(yes), Box::new(no))
                }
            }
        }
    }
}
