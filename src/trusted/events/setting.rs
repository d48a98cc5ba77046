//! A statement under construction: arbitrary members and what they do, what is known of these, and what has to follow.
//!
//! *Reading off.* If an index of an element is a loop variable or its negative, plus something with a known value, the
//! element determines that variable. If all loop variables around a statement can be read off, a member does the
//! statement at most once to an element. It does so if and only if the scope holds for the values that are read off, and
//! the statement then names this element ([`Setting::located`]).

use std::collections::HashMap;

use super::program::Direction;
use super::program::Event;
use super::program::Kind;
use super::program::Scope;
use super::program::linear;
use super::program::mentions;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::VarId;
use crate::trusted::declared::Declared;
use crate::trusted::expression::Names;
use crate::trusted::member::Goal;
use crate::trusted::term;
use crate::trusted::term::Term;
use crate::trusted::unsupported::Unsupported;

/// What names stand for.
pub type Env = HashMap<VarId, Term>;

/// A statement under construction.
pub struct Setting<'p> {
    protocol: &'p Protocol,
    names: Names,
    /// What is known.
    pub facts: Vec<Term>,
    constants: Vec<String>,
    /// Values of loop variables, and indices of elements.
    entries: Vec<Term>,
}

impl<'p> Setting<'p> {
    /// Nothing is known but what is declared.
    pub fn new(protocol: &'p Protocol, declared: &Declared) -> Setting<'p> {
        Setting {
            protocol,
            names: Names::new(declared.params.clone(), protocol.patterns.clone()),
            facts: declared.facts.clone(),
            constants: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Turns the setting into the statement that `goal` follows, unless that is plain.
    pub fn conclude(
        mut self,
        name: &'static str,
        meaning: String,
        goal: Term,
    ) -> Result<Option<(Goal, Vec<String>)>, Unsupported> {
        Unsupported::unless_in_time()?;
        if goal == term::boolean(true) {
            return Ok(None);
        }
        let counts = self.names.counts(&self.entries)?;
        self.facts.extend(counts);
        self.facts.extend(self.names.division(&[]));
        let goal = Goal {
            name,
            meaning,
            facts: self.facts,
            goal,
            functions: self.names.functions(),
        };
        Ok(Some((goal, self.constants)))
    }

    /// The value of an expression.
    pub fn expr(&mut self, expr: &Expr, env: &Env) -> Result<Term, Unsupported> {
        self.names.vars.clone_from(env);
        self.names.term(expr)
    }

    /// That an expression is defined.
    pub fn defined(&mut self, expr: &Expr, env: &Env) -> Result<Term, Unsupported> {
        self.names.vars.clone_from(env);
        self.names.defined(expr)
    }

    /// An arbitrary integer.
    pub fn constant(&mut self, what: &str) -> Term {
        let name = format!("{what}_{}", self.constants.len());
        self.constants.push(name.clone());
        term::name(&name)
    }

    /// An arbitrary integer within bounds.
    pub fn within(&mut self, what: &str, extent: &Expr) -> Result<Term, Unsupported> {
        let value = self.constant(what);
        let extent = self.expr(extent, &Env::new())?;
        self.facts
            .push(term::within(&term::int(0), &value, &extent));
        Ok(value)
    }

    /// An arbitrary member of a role.
    pub fn member(&mut self, role: &Role, what: &str) -> Result<Env, Unsupported> {
        let mut env = Env::new();
        for index in &role.indices {
            let value = self.within(what, &index.extent)?;
            env.insert(index.var, value);
        }
        Ok(env)
    }

    /// An arbitrary element of an object.
    pub fn element(&mut self, object: usize) -> Result<Vec<Term>, Unsupported> {
        let extents = &self.protocol.objects[object].extents;
        let mut element = Vec::new();
        for extent in extents {
            element.push(self.within("element", extent)?);
        }
        self.entries.extend(element.iter().cloned());
        Ok(element)
    }

    /// Lets a member come to a place with this around it, with arbitrary values of the loop variables.
    pub fn comes(&mut self, scope: &[Scope], env: &mut Env) -> Result<(), Unsupported> {
        for around in scope {
            if let Scope::Loop(var, _) = around {
                let value = self.constant("loop");
                self.entries.push(value.clone());
                env.insert(*var, value);
            }
            let holds = self.holds(around, env)?;
            self.facts.push(holds);
        }
        Ok(())
    }

    /// That a loop has the value that its variable stands for, or that a condition holds.
    fn holds(&mut self, around: &Scope, env: &Env) -> Result<Term, Unsupported> {
        match around {
            Scope::Holds(condition) => self.expr(condition, env),
            Scope::Loop(var, over) => {
                let value = env.get(var).cloned().ok_or_else(nothing)?;
                match over {
                    Iteration::Range { lo, hi, .. } => {
                        let (lo, hi) = (self.expr(lo, env)?, self.expr(hi, env)?);
                        Ok(term::within(&lo, &value, &hi))
                    }
                    Iteration::Row { pattern, row, .. } => {
                        let mut at = Vec::new();
                        for expr in row {
                            at.push(self.expr(expr, env)?);
                        }
                        at.push(value);
                        self.names.visited(pattern.0, at)
                    }
                }
            }
        }
    }

    /// That a member does something, with these values of the loop variables.
    pub fn happens(&mut self, event: &Event, env: &Env) -> Result<Term, Unsupported> {
        let mut all = Vec::new();
        for around in &event.scope {
            all.push(self.holds(around, env)?);
        }
        Ok(term::and(all))
    }

    /// What it is done to.
    pub fn indices(&mut self, event: &Event, env: &Env) -> Result<Vec<Term>, Unsupported> {
        let mut all = Vec::new();
        for index in &event.index {
            all.push(self.expr(index, env)?);
        }
        Ok(all)
    }

    /// What is waited for, or added.
    pub fn value(&mut self, event: &Event, env: &Env) -> Result<Term, Unsupported> {
        match &event.kind {
            Kind::Wait(_, value) | Kind::Add(value) => self.expr(value, env),
        }
    }

    /// The only time that a member does something to an element: the loop variables, and when it exists.
    ///
    /// # Errors
    ///
    /// A loop variable that cannot be read off.
    pub fn located(
        &mut self,
        event: &Event,
        member: &Env,
        element: &[Term],
    ) -> Result<(Env, Term), Unsupported> {
        let mut env = member.clone();
        let mut open: Vec<VarId> = event.loops().collect();
        while !open.is_empty() {
            let mut found = None;
            for (index, at) in event.index.iter().zip(element) {
                let mut unknown = open.iter().filter(|var| mentions(index, **var));
                let (Some(var), None) = (unknown.next(), unknown.next()) else {
                    continue;
                };
                let Some((up, rest)) = linear(index, *var) else {
                    continue;
                };
                let rest = self.expr(&rest, &env)?;
                let value = match up {
                    true => term::sub(at, &rest),
                    false => term::sub(&rest, at),
                };
                found = Some((*var, value));
                break;
            }
            let Some((var, value)) = found else {
                let what = "a loop variable that the element does not say";
                return Err(Unsupported::at(event.span, what));
            };
            open.retain(|other| *other != var);
            env.insert(var, value);
        }
        let mut happens = vec![self.happens(event, &env)?];
        for (index, at) in self.indices(event, &env)?.iter().zip(element) {
            happens.push(term::eq(index, at));
        }
        Ok((env, term::and(happens)))
    }

    /// That a member does something before something else, if that is certain.
    pub fn precedes(&self, (a, at_a): (&Event, &Env), (b, at_b): (&Event, &Env)) -> Term {
        let common = a.common(b);
        let mut cases = Vec::new();
        let mut same = Vec::new();
        for (var, direction) in common.loops {
            let (Some(x), Some(y)) = (at_a.get(&var), at_b.get(&var)) else {
                return term::or(cases);
            };
            let earlier = match direction {
                Direction::Up => Some(term::lt(x, y)),
                Direction::Down => Some(term::lt(y, x)),
                Direction::Open => None,
            };
            cases.extend(earlier.map(|earlier| term::and(same.iter().cloned().chain([earlier]))));
            same.push(term::eq(x, y));
        }
        if common.before {
            cases.push(term::and(same));
        }
        term::or(cases)
    }

    /// The value of an object's elements at the start.
    pub fn initial(&mut self, object: usize) -> Result<Term, Unsupported> {
        let object = &self.protocol.objects[object];
        match &object.kind {
            ObjectKind::Semaphore(Initial::Value(value)) => self.expr(value, &Env::new()),
            _ => {
                let what = "what is not a semaphore with a value at the start";
                Err(Unsupported::at(object.span, what))
            }
        }
    }
}

/// `a < b`, the first component counting most.
pub fn less(a: &[Term], b: &[Term]) -> Term {
    let mut cases = Vec::new();
    let mut same = Vec::new();
    for (x, y) in a.iter().zip(b) {
        cases.push(term::and(same.iter().cloned().chain([term::lt(x, y)])));
        same.push(term::eq(x, y));
    }
    term::or(cases)
}

/// The refusal of what has no value.
pub fn nothing() -> Unsupported {
    Unsupported::whole("a name without a value")
}
