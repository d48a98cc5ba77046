//! What an invariant can say.

use serde::Deserialize;
use serde::Serialize;

use super::accounting::Passed;
use super::state::State;
use super::system::System;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;

/// The most rounds that are looked at for passed arrivals.
const MOST_PASSED: usize = 64;

/// An invariant. A location is written `[group, location, lag]`, an element `[family, distance]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fact {
    /// The phases and the open phase of an element account for the arrivals executed at it.
    Accounting([usize; 2]),
    /// The same, where arrivals may have been passed in this many of the first rounds, and at each
    /// of this many times that the element was last due.
    AccountingExcept([usize; 2], usize, usize),
    /// This holds.
    Always(Atom),
    /// Where all of these hold, so does this.
    When(Vec<Atom>, Atom),
}

/// What a fact is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Atom {
    /// An element has completed at least this many phases more than the base suggests.
    AtLeast([usize; 2], i64),
    /// An element has completed at most this many phases more than the base suggests.
    AtMost([usize; 2], i64),
    /// The first element is ahead of the second by at most this many phases.
    Gap([usize; 2], [usize; 2], i64),
    /// Nobody is there.
    Empty([usize; 3]),
    /// Somebody is there.
    Occupied([usize; 3]),
}

impl Fact {
    /// Says it of a state.
    ///
    /// # Errors
    ///
    /// A location or element that the system does not have.
    pub fn term(&self, system: &mut System<'_>, state: &State) -> Result<Term, Unsupported> {
        match self {
            Fact::Accounting(element) => accounting(system, state, *element, Passed::default()),
            Fact::AccountingExcept(element, early, recent) => {
                if (*early).max(*recent) > MOST_PASSED {
                    return Err(absent());
                }
                let (early, recent) = (*early, *recent);
                accounting(system, state, *element, Passed { early, recent })
            }
            Fact::Always(atom) => atom.term(system, state),
            Fact::When(given, then) => {
                let mut parts = vec![then.term(system, state)?];
                for atom in given {
                    parts.push(term::not(atom.term(system, state)?));
                }
                Ok(term::or(parts))
            }
        }
    }
}

impl Atom {
    fn term(&self, system: &System<'_>, state: &State) -> Result<Term, Unsupported> {
        let ahead = |[family, distance]: &[usize; 2]| {
            let value = state.ahead.get(*family).and_then(|f| f.get(*distance));
            value.ok_or_else(absent)
        };
        let count = |[group, location, lag]: &[usize; 3]| {
            let lags = state.counts.get(*group).and_then(|g| g.get(*location));
            lags.and_then(|lags| lags.get(*lag)).ok_or_else(absent)
        };
        Ok(match self {
            Atom::AtLeast(element, value) => system.at_least(element[0], ahead(element)?, *value),
            Atom::AtMost(element, value) => {
                let next = value.checked_add(1).ok_or_else(absent)?;
                term::not(system.at_least(element[0], ahead(element)?, next))
            }
            Atom::Gap(a, b, most) => term::le(&term::sub(ahead(a)?, ahead(b)?), &term::int(*most)),
            Atom::Empty(place) => term::le(count(place)?, &term::int(0)),
            Atom::Occupied(place) => term::le(&term::int(1), count(place)?),
        })
    }
}

fn accounting(
    system: &mut System<'_>,
    state: &State,
    [family, distance]: [usize; 2],
    passed: Passed,
) -> Result<Term, Unsupported> {
    if state.ahead.get(family).is_none_or(|f| distance >= f.len()) {
        return Err(absent());
    }
    system.accounting(state, family, distance, passed)
}

fn absent() -> Unsupported {
    Unsupported::whole(
        "the artefact names a location or an element that the protocol does not have",
    )
}
