//! Loops: their trip counts, and the values that they carry from iteration to iteration.

use super::Lowerer;
use super::Result;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::assigned;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Statement;
use crate::recover::tree::Undecided;
use crate::recover::tree::refuse_undecided;
use std::borrow::Cow;

/// A loop's body: what comes before the exit, on it, and behind it.
pub(super) struct Shape<'a> {
    pub before: Cow<'a, [Statement]>,
    /// The condition under which the loop goes on.
    pub goes_on: TermId,
    pub leaving: Cow<'a, [Statement]>,
    pub behind: Cow<'a, [Statement]>,
}

impl Lowerer<'_> {
    pub(super) fn looped(
        &mut self,
        id: LoopId,
        body: &[Statement],
        location: &Location,
        lines: &mut Vec<Line>,
    ) -> Result<()> {
        let Some(shape) = self.shape(body) else {
            return refuse("a loop is left in several places, or in none", location);
        };
        let top = shape.before.is_empty();
        let bottom = shape.behind.is_empty();
        let own: Vec<u32> = self
            .recurrences
            .of_phi
            .keys()
            .copied()
            .filter(|phi| self.arena.phis[*phi as usize].in_loop == id)
            .collect();
        let (outside, start) = (self.phi_values.clone(), lines.len());
        self.begin(&own, lines)?;
        let saved_meanings = self.phi_values.clone();
        let saved_facts = self.facts.len();
        self.counts.insert(id, Number::constant(super::MOST));
        let Some(trips) = self.trip_count(shape.goes_on, id) else {
            let what = self.unknown_in(shape.goes_on);
            return refuse_undecided(Undecided::TripCount, &what, location);
        };
        // If the test is at the end, the body runs once more than the loop goes on.
        let mut count = trips.clone();
        if bottom && !top {
            let Some(more) = trips.plus(&Number::constant(1)) else {
                return refuse("a number is too large", location);
            };
            count = self.once_more(&trips).unwrap_or(more);
        }
        self.counts.insert(id, count.clone());
        self.learn(&Number::of(Atomic::Index(id)));
        if let Some(left) = count
            .minus(&Number::of(Atomic::Index(id)))
            .and_then(|left| left.minus(&Number::constant(1)))
        {
            self.learn(&left);
        }
        self.index_alone(&own);
        self.delay_states(&own, id);
        self.check_guards(id, location)?;
        let began = self.began.len();
        if top {
            self.held.push(shape.goes_on);
            self.begins(shape.goes_on, id);
        }
        self.inside.push((id, top.then_some(shape.goes_on)));
        // What is executed once more behind the loop is no iteration.
        let mut inner = match top || bottom {
            true => self.save_states(&own, id),
            false => Vec::new(),
        };
        inner.append(&mut self.block(&shape.before)?);
        if !bottom {
            inner.append(&mut self.block(&shape.behind)?);
        }
        self.end(&own, id, &mut inner, location)?;
        self.inside.pop();
        self.drop_saved_states(id);
        if top {
            self.held.pop();
        }
        self.began.truncate(began);
        self.facts.truncate(saved_facts);
        self.phi_values = saved_meanings;
        lines.push(Line::For {
            index: id,
            count: count.clone(),
            body: inner,
            location: location.clone(),
        });
        // Behind the loop, carried values are those with which it was left.
        let last = if bottom && !top {
            count.minus(&Number::constant(1))
        } else {
            Some(count)
        };
        self.leave(&own, id, last.as_ref(), bottom && !top);
        let moved = assigned(&lines[start..]);
        self.phi_values.keep(&outside, &own, &moved);
        if !top && !bottom {
            let mut rest = self.block(&shape.before)?;
            lines.append(&mut rest);
        }
        let mut rest = self.block(&shape.leaving)?;
        lines.append(&mut rest);
        Ok(())
    }

    /// Inside of a loop: notes that its first iteration begins, as far as the launch decides that.
    fn begins(&mut self, goes_on: TermId, id: LoopId) {
        let phis = &self.arena.phis;
        let terms = &mut self.arena.terms;
        let first = terms.substitute(goes_on, &|atom| match atom {
            Atom::Phi(phi) if phis[phi as usize].in_loop == id => Some(phis[phi as usize].first),
            _ => None,
        });
        if is_launch(first, terms) {
            self.began.push(first);
        }
    }

    fn shape<'a>(&mut self, body: &'a [Statement]) -> Option<Shape<'a>> {
        match self.left_at_the_end(body) {
            Some(shape) => Some(shape),
            None => self.with_one_exit(body),
        }
    }

    /// A loop whose only exit is in the last statement of its body.
    fn left_at_the_end<'a>(&mut self, body: &'a [Statement]) -> Option<Shape<'a>> {
        let (last, before) = body.split_last()?;
        if before.iter().any(leaves) {
            return None;
        }
        let Statement::If {
            condition,
            then,
            otherwise,
            ..
        } = last
        else {
            return None;
        };
        let not = self.arena.terms.not(condition);
        let (goes_on, way_out, behind) = match (then.last(), otherwise.last()) {
            (Some(Statement::Break), _) => (not, then, otherwise),
            (_, Some(Statement::Break)) => (*condition, otherwise, then),
            _ => return None,
        };
        let (_, leaving) = way_out.split_last()?;
        if behind.iter().any(leaves) || leaving.iter().any(leaves) {
            return None;
        }
        Some(Shape {
            before: Cow::Borrowed(before),
            goes_on,
            leaving: Cow::Borrowed(leaving),
            behind: Cow::Borrowed(behind),
        })
    }

    /// Registers the loops that move in steps of the grid.
    pub(super) fn register_loops(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Loop { body, .. } => {
                    if let Some(goes_on) = self.shape(body).map(|shape| shape.goes_on) {
                        self.register_condition(goes_on);
                    }
                    self.register_loops(body);
                }
                Statement::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    self.register_compared(*condition);
                    self.held.push(*condition);
                    self.register_loops(then);
                    self.held.pop();
                    let not = self.arena.terms.not(condition);
                    self.held.push(not);
                    self.register_loops(otherwise);
                    self.held.pop();
                }
                _ => {}
            }
        }
    }

    /// Notes which values of the launch a condition compares.
    fn register_compared(&mut self, condition: TermId) {
        let terms = &self.arena.terms;
        for part in terms.parts(condition) {
            if let Node::Relation(_, a, b) = *terms.node(part)
                && is_launch(part, terms)
            {
                let computed = [a, b]
                    .into_iter()
                    .filter(|term| terms.value(*term).is_none());
                self.inputs.compared.extend(computed);
            }
        }
    }

    fn register_condition(&mut self, goes_on: TermId) {
        match self.arena.terms.node(goes_on).clone() {
            Node::Binary(Binary::And, a, b) => {
                self.register_condition(a);
                self.register_condition(b);
            }
            Node::Atom(Atom::Phi(phi)) => {
                if let Some(term) = self.derived(phi) {
                    self.register_condition(term);
                }
            }
            Node::Not(inner) => match self.arena.terms.node(inner).clone() {
                Node::Atom(Atom::Phi(phi)) => {
                    if let Some(term) = self.derived(phi) {
                        let not = self.arena.terms.not(&term);
                        self.register_condition(not);
                    }
                }
                _ => self.register_relation(goes_on),
            },
            _ => self.register_relation(goes_on),
        }
    }

    /// Notes the values of the launch that a loop runs up to, and how often it runs.
    fn register_relation(&mut self, relation: TermId) {
        self.note_start(relation);
        let ended = self.as_less(relation, None);
        self.register_trips(ended);
        let inner = match *self.arena.terms.node(relation) {
            Node::Not(inner) => inner,
            _ => relation,
        };
        let Node::Relation(_, a, b) = *self.arena.terms.node(inner) else {
            return;
        };
        for (bound, other) in [(a, b), (b, a)] {
            let fixed = |term: TermId| is_launch(term, &self.arena.terms);
            if fixed(bound) && !fixed(other) {
                self.inputs.bounds.insert(bound);
                // A loop that counts down runs up to the value with which it begins.
                if self.arena.terms.value(bound).is_some() {
                    let begins = self.begins_with(other);
                    self.inputs.bounds.extend(begins);
                }
            }
        }
    }

    /// The value of the launch that a register of a term begins with.
    fn begins_with(&self, term: TermId) -> Option<TermId> {
        let atoms = self.arena.terms.atoms(term);
        let [Atom::Phi(phi)] = *atoms else {
            return None;
        };
        let first = self.arena.phis[phi as usize].first;
        let computed = self.arena.terms.value(first).is_none();
        (computed && is_launch(first, &self.arena.terms)).then_some(first)
    }

    /// `max(0, n - 1) + 1`, where `trips` is `max(0, n - 1)`: `n` if that is known to be at least 1, else `max(1, n)`.
    fn once_more(&self, trips: &Number) -> Option<Number> {
        if trips.constant != 0 || trips.parts.len() != 1 {
            return None;
        }
        let Some((Atomic::Maximum(a, b), 1)) = trips.parts.first_key_value() else {
            return None;
        };
        let zero = Number::constant(0);
        let other = if **a == zero {
            b
        } else if **b == zero {
            a
        } else {
            return None;
        };
        let n = other.plus(&Number::constant(1))?;
        let positive = n.minus(&Number::constant(1))?;
        if self.is_natural(&positive) {
            return Some(n);
        }
        Some(Number::maximum(Number::constant(1), n))
    }
}

/// Whether a statement leaves the innermost loop or the program.
pub fn leaves(statement: &Statement) -> bool {
    match statement {
        Statement::Break | Statement::Return => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(leaves),
        Statement::Loop { body, .. } => body.iter().any(returns),
        Statement::Event(_) => false,
    }
}

fn returns(statement: &Statement) -> bool {
    match statement {
        Statement::Return => true,
        Statement::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(returns),
        Statement::Loop { body, .. } => body.iter().any(returns),
        Statement::Event(_) | Statement::Break => false,
    }
}
