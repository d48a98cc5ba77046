//! What the entry of a loop or the end of an iteration makes of the registers that come around.

use std::collections::BTreeMap;

use crate::recover::term::TermId;

/// By how many steps a site moves a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steps {
    By(usize),
    /// To the state of this number, from any state.
    To(usize),
    /// What does not depend on the machine decides.
    If(TermId, Box<Steps>, Box<Steps>),
}

/// What a site makes of the variables of a machine: their places and terms over them.
#[derive(Debug, Clone)]
pub(super) enum Change {
    To(Vec<(usize, TermId)>),
    If(TermId, Box<Change>, Box<Change>),
}

/// What a change does to every state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    By(usize),
    To(usize),
}

/// A way through the conditions of a change, and what it comes to.
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
