//! Loops that are left in several places.
//!
//! ```text
//! loop { A; if x { X; break } B; if y { Y; break } C }
//! ```
//!
//! A round in which neither `x` nor `y` holds does `A; B; C`, and is followed by another one. So the
//! loop does that in its first rounds, as long as `!x && !y`. The next round is the last. It does
//! `A`, and then `X` if `x` holds, else `B; Y`. Both conditions are terms over the values with which
//! a round begins. So it is the same to ask at its beginning.
//!
//! Loops in `A` and `B` would be written twice. They are refused.

use super::Lowerer;
use super::looping::Shape;
use super::looping::leaves;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::recover::term::TermId;
use crate::recover::tree::Statement;
use std::borrow::Cow;

/// How many places there are at most in which a loop is left.
const MOST_EXITS: u32 = 8;

/// What is done in a round.
struct Rounds {
    /// The condition under which the loop goes on behind it.
    goes_on: TermId,
    /// If it goes on.
    full: Vec<Statement>,
    /// If it does not.
    last: Vec<Statement>,
}

impl Lowerer<'_> {
    /// A loop with several exits as one that is left at its beginning.
    pub(super) fn with_one_exit(&mut self, body: &[Statement]) -> Option<Shape<'static>> {
        let rounds = self.rounds(body, MOST_EXITS)?;
        Some(Shape {
            before: Cow::Borrowed(&[]),
            goes_on: rounds.goes_on,
            leaving: Cow::Owned(rounds.last),
            behind: Cow::Owned(rounds.full),
        })
    }

    fn rounds(&mut self, body: &[Statement], exits: u32) -> Option<Rounds> {
        let exits = exits.checked_sub(1)?;
        let at = body.iter().position(leaves)?;
        let before = &body[..at];
        let Statement::If {
            condition,
            then,
            otherwise,
            location,
        } = &body[at]
        else {
            return None;
        };
        if before.iter().any(has_loop) {
            return None;
        }
        let not = self.arena.terms.not(condition);
        let (stays, out, other) = match (way_out(then), way_out(otherwise)) {
            (Some(out), None) => (not, out, otherwise),
            (None, Some(out)) => (*condition, out, then),
            _ => return None,
        };
        let mut rest = other.clone();
        rest.extend_from_slice(&body[at + 1..]);
        let mut full = before.to_vec();
        let mut last = before.to_vec();
        if !rest.iter().any(leaves) {
            full.append(&mut rest);
            last.extend_from_slice(out);
            return Some(Rounds {
                goes_on: stays,
                full,
                last,
            });
        }
        let mut inner = self.rounds(&rest, exits)?;
        full.append(&mut inner.full);
        let (then, otherwise) = match stays == not {
            true => (out.to_vec(), inner.last),
            false => (inner.last, out.to_vec()),
        };
        last.push(Statement::If {
            condition: *condition,
            then,
            otherwise,
            location: location.clone(),
        });
        let goes_on = self.arena.terms.binary(Binary::And, &stays, &inner.goes_on);
        Some(Rounds {
            goes_on,
            full,
            last,
        })
    }
}

/// What comes before the `break` at the end, if statements leave the loop there and nowhere else.
fn way_out(statements: &[Statement]) -> Option<&[Statement]> {
    let (last, before) = statements.split_last()?;
    (*last == Statement::Break && !before.iter().any(leaves)).then_some(before)
}

fn has_loop(statement: &Statement) -> bool {
    match statement {
        Statement::Loop { .. } => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(has_loop),
        Statement::Event(_) | Statement::Break | Statement::Return => false,
    }
}
