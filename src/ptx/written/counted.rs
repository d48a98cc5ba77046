//! Loops in which only some iterations count. The number of earlier iterations that count is a local variable, which is
//! incremented where one counts. Outside such a loop it is `count(k in 0..i where ..)`. If the other iterations do
//! nothing, and a whole row of a pattern says which iterations count, the loop is written as a loop over the row.

use std::cell::RefCell;
use std::fmt::Write as _;

use super::write::Writer;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::rewrite::mapped;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Obstacle;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

impl Writer<'_, '_> {
    /// Writes a loop in which iterations are counted; says if it is none.
    pub fn counting(
        &mut self,
        (variable, times, body): (Unknown, &Sum, &[Statement]),
        statement: &Statement,
        rank: u32,
    ) -> Result<bool, Obstacle> {
        let counts = counts(body, variable);
        if counts.is_empty() {
            return Ok(false);
        }
        let at = statement.at;
        let source = self.source(at, statement.location);
        let first = self.counted.len();
        for count in &counts {
            let name = self.declared();
            self.counted.push((count.clone(), name));
        }
        let words = self.sum(times, at)?;
        self.loops.push(variable);
        self.times.push(times.clone());
        let name = self.unknown(variable, at)?;
        // The variable goes on at the end of the last branch that is taken where it does.
        let places: Vec<Option<usize>> = counts.iter().map(|c| branch(c, variable, body)).collect();
        let row = match (body, places.as_slice()) {
            (
                [
                    Statement {
                        action: Action::If(condition, yes, _),
                        ..
                    },
                ],
                [Some(_)],
            ) if !moves(yes, variable) => {
                self.whole_row(condition, variable, (times, &words), at)?
            }
            _ => None,
        };
        let head = match &row {
            Some(row) => row.clone(),
            None => format!("0..{words}"),
        };
        let _ = writeln!(self.out, "for {name} in {head} {{  // {source}");
        let mut next = 0;
        for (place, statement) in body.iter().enumerate() {
            let Action::If(condition, yes, _) = &statement.action else {
                continue;
            };
            if !places.contains(&Some(place)) {
                continue;
            }
            self.some((body, next..place), None, rank)?;
            next = place + 1;
            if row.is_none() {
                let words = self.condition(condition, statement.at)?;
                let source = self.source(statement.at, statement.location);
                let _ = writeln!(self.out, "if {words} {{  // {source}");
            }
            self.conditions.push(condition.clone());
            self.statements(yes, Some((body, place)), rank)?;
            self.conditions.pop();
            for (number, _) in places
                .iter()
                .enumerate()
                .filter(|(_, p)| **p == Some(place))
            {
                self.goes_on(first + number);
            }
            if row.is_none() {
                self.out.push_str("}\n");
            }
        }
        self.some((body, next..body.len()), None, rank)?;
        for (number, count) in counts.iter().enumerate() {
            if places.get(number).is_some_and(Option::is_some) {
                continue;
            }
            let condition = here(count, variable).unwrap_or(Condition::Constant(false));
            let words = self.condition(&condition, at)?;
            let _ = writeln!(self.out, "if {words} {{  // {source}");
            self.goes_on(first + number);
            self.out.push_str("}\n");
        }
        self.out.push_str("}\n");
        self.loops.pop();
        self.times.pop();
        // After the loop it is how many count in all.
        for (count, _) in self.counted.iter_mut().skip(first) {
            if let Atom::Count(_, _, upto) = count {
                *upto = times.clone().into();
            }
        }
        Ok(true)
    }

    /// Declares a local variable that begins with 0.
    pub fn declared(&mut self) -> String {
        let name = match self.declared {
            0 => "v".to_owned(),
            number => format!("v{number}"),
        };
        self.declared += 1;
        let _ = writeln!(self.out, "var {name} = 0");
        name
    }

    /// A variable that counts has one more.
    pub fn goes_on(&mut self, number: usize) {
        if let Some((_, name)) = self.counted.get(number) {
            let _ = writeln!(self.out, "{name} = {name} + 1");
        }
    }

    /// How many numbers satisfy a condition.
    pub fn count(
        &mut self,
        (condition, own, upto): (&Condition, Unknown, &Sum),
        at: usize,
    ) -> Result<String, Obstacle> {
        if self.loops.contains(&own) {
            let reason = "what is counted depends on what is counted in turn";
            return Err(Obstacle::new(at, reason));
        }
        let words = self.sum(upto, at)?;
        // Those of iterations before this one are of the same loop.
        let around = self.loops.iter().zip(&self.times);
        let mut around = around.filter(|(variable, _)| Sum::unknown(**variable) == *upto);
        let times = around.next().map_or(upto, |(_, times)| times).clone();
        self.loops.push(own);
        self.times.push(times);
        let name = self.unknown(own, at);
        let condition = self.condition(condition, at);
        self.loops.pop();
        self.times.pop();
        Ok(format!(
            "count({} in 0..{words} where {})",
            name?, condition?
        ))
    }
}

/// The last branch in a body that is taken exactly where the iteration counts, if nothing after it mentions the count.
fn branch(count: &Atom, variable: Unknown, body: &[Statement]) -> Option<usize> {
    let here = here(count, variable)?;
    let taken =
        |s: &Statement| matches!(&s.action, Action::If(c, _, no) if *c == here && no.is_empty());
    let place = body.iter().rposition(taken)?;
    let behind = body.get(place + 1..).unwrap_or_default();
    (!counts(behind, variable).contains(count)).then_some(place)
}

/// The counts of iterations before this one of a loop that its body mentions.
fn counts(body: &[Statement], variable: Unknown) -> Vec<Atom> {
    let found = RefCell::new(Vec::new());
    look(body, &mut |atom| {
        if let Atom::Count(_, _, upto) = atom
            && **upto == Sum::unknown(variable)
        {
            let mut found = found.borrow_mut();
            if !found.contains(atom) {
                found.push(atom.clone());
            }
        }
        true
    });
    found.into_inner()
}

/// Whether a body mentions the number of the iteration other than by counts up to it.
pub(in crate::ptx) fn moves(body: &[Statement], variable: Unknown) -> bool {
    let mut moves = false;
    look(body, &mut |atom| match atom {
        Atom::Unknown(u) => {
            moves |= *u == variable;
            false
        }
        Atom::Count(_, _, upto) => **upto != Sum::unknown(variable),
        _ => true,
    });
    moves
}

/// Looks at the atoms in statements.
fn look(body: &[Statement], inside: &mut dyn FnMut(&Atom) -> bool) {
    let inside = RefCell::new(inside);
    mapped(
        body,
        &|sum| {
            sum.look(&mut **inside.borrow_mut());
            sum.clone()
        },
        &|condition| {
            condition.look(&mut **inside.borrow_mut());
            condition.clone()
        },
    );
}

/// Whether this iteration counts.
fn here(count: &Atom, variable: Unknown) -> Option<Condition> {
    let Atom::Count(condition, own, _) = count else {
        return None;
    };
    let number = |u: Unknown| (u == *own).then(|| Sum::unknown(variable));
    Some(Facts::default().replaced_in(condition, &number))
}
