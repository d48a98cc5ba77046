//! Words that are only ever set to one value, as flags are: that they have been set is all that anybody waits for.
//!
//! A word that is 0 at first and set to `v` and nothing else, as often as it may be, is 0 or `v`. Then `wait w >= k`
//! with `1 <= k <= v` and `wait w == v` both wait until it has been set once, and `w += 1`, `wait w >= 1` has the same
//! runs. Proofs take that: nobody can take back what has been added.

use std::collections::BTreeMap;

use super::memory::based;
use super::program::Program;
use super::program::each;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// The uses of the words that a pointer points to: what they are set to, and whether all of them are flags.
#[derive(Debug, Default)]
struct Used {
    set: Option<i128>,
    other: bool,
    waited: Vec<(bool, i128)>,
}

impl Used {
    fn flags(&self) -> bool {
        let Some(value) = self.set.filter(|value| *value > 0 && !self.other) else {
            return false;
        };
        self.waited.iter().all(|(exact, least)| {
            if *exact {
                *least == value
            } else {
                (1..=value).contains(least)
            }
        })
    }
}

/// Counts how often flags have been set.
pub(in crate::ptx) fn raised(programs: &mut [Program], unknowns: &Unknowns) {
    let mut pointers: BTreeMap<Unknown, Used> = BTreeMap::new();
    for program in programs.iter() {
        each(&program.statements, &mut |s| {
            note(&s.action, unknowns, &mut pointers)
        });
    }
    pointers.retain(|_, used| used.flags());
    for program in programs {
        count(&mut program.statements, unknowns, &pointers);
    }
}

fn note(action: &Action, unknowns: &Unknowns, pointers: &mut BTreeMap<Unknown, Used>) {
    let (Action::CounterAdd(address, value)
    | Action::CounterSet(address, value)
    | Action::CounterWait(address, _, value)) = action
    else {
        return;
    };
    let Some((pointer, _)) = based(address, unknowns) else {
        return;
    };
    let used = pointers.entry(pointer).or_default();
    match (action, value.as_constant()) {
        (Action::CounterSet(..), Some(value)) if used.set.is_none_or(|set| set == value) => {
            used.set = Some(value);
        }
        (Action::CounterWait(_, exact, _), Some(value)) => used.waited.push((*exact, value)),
        _ => used.other = true,
    }
}

fn count(statements: &mut [Statement], unknowns: &Unknowns, flags: &BTreeMap<Unknown, Used>) {
    let is_flag = |address: &Sum| {
        based(address, unknowns).is_some_and(|(pointer, _)| flags.contains_key(&pointer))
    };
    for statement in statements {
        match &mut statement.action {
            Action::For(_, _, body) => count(body, unknowns, flags),
            Action::If(_, yes, no) => {
                count(yes, unknowns, flags);
                count(no, unknowns, flags);
            }
            Action::CounterSet(address, _) if is_flag(address) => {
                statement.action = Action::CounterAdd(address.clone(), Sum::of(1));
            }
            Action::CounterWait(address, exact, value) if is_flag(address) => {
                (*exact, *value) = (false, Sum::of(1));
            }
            _ => {}
        }
    }
}
