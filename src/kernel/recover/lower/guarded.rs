//! Simplifies registers that are used under a condition that *ends once*: it holds up to some iteration of the loop,
//! and in none from there on.
//!
//! ```text
//! for i { if i < n { wait bar[stage] phase }; phase ^= stage == 1; if i < n { stage = 1 - stage } }
//! ```
//!
//! In an iteration in which `i < n` holds, it has held in all iterations before. So there, `stage` and `phase` have
//! the values that they would have if `i < n` held in every iteration. New registers with these values replace them
//! under the condition. The loop carries the new registers like others. Often their values repeat, and those of the
//! old ones do not. First values are simplified where it is known which branches around the loop were taken.
//!
//! A comparison of a counter with a value of the launch ends once, if the counter moves by a fixed step and does not
//! wrap around. This is checked when the loop is lowered: as a condition on the index, it must not hold again at a
//! greater index.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Lowerer;
use super::Result;
use super::refuse;
use crate::ir::Location;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;
use crate::recover::tree::Phi;
use crate::recover::tree::Statement;

/// A relation, and whether it holds or fails in the first iterations.
pub(super) type Guard = (TermId, bool);

impl Lowerer<'_> {
    /// Statements in which registers under conditions that end once are replaced.
    pub(super) fn guarded(&mut self, statements: &[Statement]) -> Vec<Statement> {
        let mut all = Vec::new();
        for statement in statements {
            all.push(match statement {
                Statement::If {
                    condition,
                    then,
                    otherwise,
                    location,
                } => {
                    let not = self.arena.terms.not(condition);
                    let launch = is_launch(*condition, &self.arena.terms);
                    let holds = launch.then(|| self.condition(*condition)).flatten();
                    let fails = holds.clone().and_then(Condition::negated);
                    Statement::If {
                        condition: *condition,
                        then: self.under(*condition, holds.as_ref(), |it| it.guarded(then)),
                        otherwise: self.under(not, fails.as_ref(), |it| it.guarded(otherwise)),
                        location: location.clone(),
                    }
                }
                Statement::Loop { id, body, location } => {
                    for phi in self.phis_of(*id) {
                        let first = self.arena.phis[phi as usize].first;
                        self.arena.phis[phi as usize].first = self.settled(first);
                    }
                    let mut body = self.guarded(body);
                    let mut guards = Vec::new();
                    guards_in(&body, *id, self, &mut guards);
                    for guard in guards {
                        let with = self.as_if_held(*id, guard);
                        if !with.is_empty() {
                            self.put(&mut body, guard, &with);
                            self.guards.entry(*id).or_default().push(guard);
                        }
                    }
                    Statement::Loop {
                        id: *id,
                        body,
                        location: location.clone(),
                    }
                }
                other => other.clone(),
            });
        }
        all
    }

    fn phis_of(&self, id: LoopId) -> Vec<u32> {
        (0..)
            .zip(&self.arena.phis)
            .filter(|(_, phi)| phi.in_loop == id)
            .map(|(number, _)| number)
            .collect()
    }

    /// A term without the choices of the launch whose outcome is known at this point.
    fn settled(&mut self, term: TermId) -> TermId {
        let mut term = term;
        loop {
            let choices = self.arena.terms.parts(term).into_iter();
            let choices: Vec<TermId> = choices
                .filter_map(|part| match self.arena.terms.node(part) {
                    Node::Select(condition, ..) => Some(*condition),
                    _ => None,
                })
                .filter(|condition| is_launch(*condition, &self.arena.terms))
                .collect();
            let known = choices.into_iter().find_map(|choice| {
                let condition = self.condition(choice)?;
                Some((choice, self.known(&condition)?))
            });
            let Some((choice, truth)) = known else {
                return term;
            };
            let truth = self.arena.terms.constant(u128::from(truth), 1);
            let settled = self.arena.terms.replaced(term, choice, truth);
            if settled == term {
                return term;
            }
            term = settled;
        }
    }

    /// Whether a relation holds, or fails, up to some iteration of a loop and in none from there on, if nothing wraps
    /// around.
    fn ends_once(&self, (relation, holds): Guard, id: LoopId) -> bool {
        let terms = &self.arena.terms;
        let Node::Relation(Relation::LessSigned, a, b) = *terms.node(relation) else {
            return false;
        };
        let step = |counting: TermId, bound: TermId| -> Option<i128> {
            let (_, parts) = terms.linear(counting);
            let moving = |atom: &Atom| matches!(atom, Atom::Phi(phi) if self.arena.phis[*phi as usize].in_loop == id);
            let mut own = parts
                .iter()
                .filter(|(part, _)| terms.atoms(*part).iter().any(moving));
            let (Some((part, 1)), None) = (own.next(), own.next()) else {
                return None;
            };
            let Node::Atom(Atom::Phi(phi)) = *terms.node(*part) else {
                return None;
            };
            let (step, next) = terms.linear(self.arena.phis[phi as usize].next);
            let counts = next == [(*part, 1)] && is_launch(bound, terms);
            counts.then(|| crate::meaning::Word::new(step, terms.width_of(*part)).signed())
        };
        match (step(a, b), step(b, a)) {
            (Some(up), None) => (up > 0) == holds && up != 0,
            (None, Some(up)) => (up > 0) != holds && up != 0,
            _ => false,
        }
    }

    /// The registers of a loop that would have other values if a condition held in every iteration,
    /// each with the new register that has these values.
    fn as_if_held(&mut self, id: LoopId, (relation, holds): Guard) -> BTreeMap<Atom, TermId> {
        let truth = self.arena.terms.constant(u128::from(holds), 1);
        let own = self.phis_of(id);
        let mut nexts = BTreeMap::new();
        let mut others = BTreeSet::new();
        for phi in own {
            let next = self.arena.phis[phi as usize].next;
            let held = self.arena.terms.replaced(next, relation, truth);
            if held != next {
                others.insert(Atom::Phi(phi));
            }
            nexts.insert(phi, held);
        }
        loop {
            let before = others.len();
            for (phi, next) in &nexts {
                let atoms = self.arena.terms.atoms(*next);
                if atoms.iter().any(|atom| others.contains(atom)) {
                    others.insert(Atom::Phi(*phi));
                }
            }
            if others.len() == before {
                break;
            }
        }
        // The condition of the first iteration says something about the first values.
        let phis = self.arena.phis.clone();
        let at_first = |atom: Atom| match atom {
            Atom::Phi(phi) if phis[phi as usize].in_loop == id => Some(phis[phi as usize].first),
            _ => None,
        };
        let first = self.arena.terms.substitute(relation, &at_first);
        let first = match holds {
            true => first,
            false => self.arena.terms.not(&first),
        };
        let launch = is_launch(first, &self.arena.terms);
        let at_first = launch.then(|| self.condition(first)).flatten();
        let mut with = BTreeMap::new();
        for atom in &others {
            let Atom::Phi(phi) = atom else { continue };
            let begin = phis[*phi as usize].first;
            let begin = self.under(first, at_first.as_ref(), |it| it.settled(begin));
            let number = u32::try_from(self.arena.phis.len()).unwrap_or(u32::MAX);
            let width = self.arena.terms.width_of(begin);
            self.arena.phis.push(Phi {
                in_loop: id,
                first: begin,
                next: begin,
            });
            with.insert(*atom, self.arena.terms.atom(Atom::Phi(number), width));
        }
        for (atom, own) in &with {
            let (Atom::Phi(phi), Node::Atom(Atom::Phi(own))) =
                (atom, self.arena.terms.node(*own).clone())
            else {
                continue;
            };
            let Some(next) = nexts.get(phi) else { continue };
            let next = self
                .arena
                .terms
                .substitute(*next, &|atom| with.get(&atom).copied());
            self.arena.phis[own as usize].next = next;
        }
        with
    }

    /// Replaces registers where a condition holds.
    fn put(&mut self, statements: &mut [Statement], guard: Guard, with: &BTreeMap<Atom, TermId>) {
        for statement in statements {
            match statement {
                Statement::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    for (side, truth) in [(then, true), (otherwise, false)] {
                        let mut known = Vec::new();
                        conjuncts(*condition, truth, self, &mut known);
                        match known.contains(&guard) {
                            true => self.replace(side, with),
                            false => self.put(side, guard, with),
                        }
                    }
                }
                Statement::Loop { body, .. } => self.put(body, guard, with),
                Statement::Event(_) | Statement::Break | Statement::Return => {}
            }
        }
    }

    fn replace(&mut self, statements: &mut [Statement], with: &BTreeMap<Atom, TermId>) {
        for statement in statements {
            let terms = match &mut *statement {
                Statement::Event(event) => event.kind.terms_mut(),
                Statement::If { condition, .. } => vec![condition],
                Statement::Loop { .. } | Statement::Break | Statement::Return => Vec::new(),
            };
            for term in terms {
                let found = |atom: Atom| with.get(&atom).copied();
                *term = self.arena.terms.substitute(*term, &found);
            }
            match statement {
                Statement::If {
                    then, otherwise, ..
                } => {
                    self.replace(then, with);
                    self.replace(otherwise, with);
                }
                Statement::Loop { body, .. } => self.replace(body, with),
                Statement::Event(_) | Statement::Break | Statement::Return => {}
            }
        }
    }

    /// Refuses conditions of a loop that do not end once.
    pub(super) fn check_guards(&mut self, id: LoopId, location: &Location) -> Result<()> {
        for (relation, holds) in self.guards.get(&id).cloned().unwrap_or_default() {
            let condition = self.condition(relation);
            let condition = match holds {
                true => condition,
                false => condition.and_then(Condition::negated),
            };
            if !condition.is_some_and(|condition| falls(&condition, id)) {
                return refuse(
                    "up to which iteration a condition of a loop holds cannot be written in the protocol language",
                    location,
                );
            }
        }
        Ok(())
    }
}

/// Whether a condition that fails in an iteration of a loop also fails in all later ones.
fn falls(condition: &Condition, id: LoopId) -> bool {
    let is_fixed = |atomic: &Atomic| {
        !Number::of(atomic.clone()).mentions(&|atomic| match atomic {
            Atomic::Variable(_) => true,
            Atomic::Index(index) => *index == id,
            _ => false,
        })
    };
    match condition {
        Condition::Constant(_) => true,
        Condition::AtLeastZero(number) => number.parts.iter().all(|(atomic, factor)| {
            is_fixed(atomic) || *atomic == Atomic::Index(id) && *factor < 0
        }),
        _ => false,
    }
}

/// The conditions that end once and under which the body of a loop does something.
fn guards_in(statements: &[Statement], id: LoopId, lowerer: &Lowerer<'_>, found: &mut Vec<Guard>) {
    for statement in statements {
        let Statement::If {
            condition,
            then,
            otherwise,
            ..
        } = statement
        else {
            continue;
        };
        for (side, truth) in [(then, true), (otherwise, false)] {
            if side.is_empty() {
                continue;
            }
            let mut known = Vec::new();
            conjuncts(*condition, truth, lowerer, &mut known);
            known.retain(|guard| !found.contains(guard) && lowerer.ends_once(*guard, id));
            found.extend(known);
            guards_in(side, id, lowerer, found);
        }
    }
}

/// The relations that certainly hold or fail if a condition holds, or fails.
fn conjuncts(condition: TermId, truth: bool, lowerer: &Lowerer<'_>, found: &mut Vec<Guard>) {
    match *lowerer.arena.terms.node(condition) {
        Node::Not(inner) => conjuncts(inner, !truth, lowerer, found),
        Node::Binary(Binary::And, a, b) if truth => {
            conjuncts(a, truth, lowerer, found);
            conjuncts(b, truth, lowerer, found);
        }
        Node::Binary(Binary::Or, a, b) if !truth => {
            conjuncts(a, truth, lowerer, found);
            conjuncts(b, truth, lowerer, found);
        }
        Node::Relation(..) => found.push((condition, truth)),
        _ => {}
    }
}
