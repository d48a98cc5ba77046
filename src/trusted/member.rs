//! One member by itself: what it has counted and what holds wherever it stands.
//!
//! The program is gone through once, with a term for every variable and counter. Where a loop begins, everything that its
//! body changes may have any value for which the certificate's facts about the loop hold. These facts have to hold on
//! entry and after each iteration ([`super::acts`] says what else has to hold at each act). So everything that is assumed
//! at a place holds of every member that comes there, in every run, whatever others do: control flow depends on nothing
//! else.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use super::certificate::Behind;
use super::certificate::Certificate;
use super::certificate::Counter;
use super::certificate::Fact;
use super::certificate::Local;
use super::certificate::Name;
use super::certificate::Sum;
use super::expression::Names;
use super::system::Class;
use super::system::Loop;
use super::system::Node;
use super::system::System;
use super::system::assigned;
use super::system::counted;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
pub use super::unsupported::unfit;
use super::world::World;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Span;
use crate::protocol::VarId;

/// Something that has to follow.
#[derive(Debug, Clone)]
pub struct Goal {
    /// What it is about.
    pub name: &'static str,
    /// What it says.
    pub meaning: String,
    /// From what.
    pub facts: Vec<Term>,
    /// What.
    pub goal: Term,
    /// Declarations of functions that occur.
    pub functions: Vec<String>,
}

/// A member before one of its waits, or at its end.
#[derive(Debug, Clone)]
pub struct Scene {
    /// What holds there.
    pub facts: Vec<Term>,
    /// What it has counted.
    pub counters: BTreeMap<Counter, Term>,
    /// At a wait: what it is for.
    pub wait: Option<Awaits>,
}

/// What a wait is for.
#[derive(Debug, Clone)]
pub struct Awaits {
    /// The ring.
    pub ring: usize,
    /// The number.
    pub number: Term,
    /// The rank of the wait.
    pub rank: Term,
    /// Where it stands.
    pub span: Span,
}

/// A member of a class.
pub struct Member<'a, 'p> {
    pub(super) world: &'a World<'a, 'p>,
    pub(super) class: usize,
    pub(super) names: Names,
    pub(super) counters: BTreeMap<Counter, Term>,
    pub(super) facts: Vec<Term>,
    pub(super) goals: Vec<Goal>,
    pub(super) scenes: Vec<Scene>,
    done: HashMap<usize, Term>,
    /// Names that nothing may be assigned to.
    fixed: Vec<VarId>,
    /// Begins the name of every constant.
    tag: &'static str,
    pub(super) constants: Vec<String>,
    /// Products that occur in facts and ranks: all factors but the last, and the last.
    pub(super) products: BTreeSet<(Vec<Term>, Term)>,
    /// Counters that are kept as quotient and remainder, with their sizes.
    pairs: BTreeSet<[Term; 4]>,
}

/// Goes through the program of a class: what has to follow, the waits in text order and then the end, and the constants that occur.
///
/// # Errors
///
/// A construct without a term, or a certificate that does not fit.
pub fn walk<'a, 'p>(
    world: &'a World<'a, 'p>,
    class: usize,
    tag: &'static str,
) -> Result<Member<'a, 'p>, Unsupported> {
    let mut member = Member {
        world,
        class,
        names: Names::new(world.declared.params.clone(), Vec::new()),
        counters: BTreeMap::new(),
        facts: Vec::new(),
        goals: Vec::new(),
        scenes: Vec::new(),
        done: HashMap::new(),
        fixed: Vec::new(),
        tag,
        constants: Vec::new(),
        products: BTreeSet::new(),
        pairs: BTreeSet::new(),
    };
    member.begin()?;
    member.block(&world.system.classes[class].body)?;
    member.end()?;
    Ok(member)
}

impl<'a, 'p> Member<'a, 'p> {
    pub(super) fn system(&self) -> &'a System<'p> {
        self.world.system
    }

    pub(super) fn certificate(&self) -> &'a Certificate {
        self.world.certificate
    }

    fn this(&self) -> &'a Class {
        &self.world.system.classes[self.class]
    }

    pub(super) fn local(&self) -> Result<&'a Local, Unsupported> {
        self.world.local(self.class)
    }

    /// What is known here. Of quotients, only what those say that have occurred by now: what is counted later tells nothing of them.
    pub(super) fn known(&self) -> Vec<Term> {
        let pairs: Vec<[Term; 4]> = self.pairs.iter().cloned().collect();
        let mut facts = self.facts.clone();
        facts.extend(self.names.division(&pairs));
        facts
    }

    pub(super) fn conclude(&mut self, name: &'static str, meaning: String, goals: Vec<Term>) {
        let goal = term::and(goals);
        if goal != term::boolean(true) {
            let facts = self.known();
            self.goals.push(Goal {
                name,
                meaning,
                facts,
                goal,
                functions: Vec::new(),
            });
        }
    }

    /// A new constant.
    pub(super) fn constant(&mut self, what: &str) -> Term {
        let name = format!("{}_{}_{what}", self.tag, self.constants.len());
        self.constants.push(name.clone());
        term::name(&name)
    }

    /// A new constant with this value, or the value itself where it is a literal.
    pub(super) fn define(&mut self, what: &str, value: Term) -> Term {
        if value.is_literal() {
            return value;
        }
        let constant = self.constant(what);
        self.facts.push(term::eq(&constant, &value));
        constant
    }

    pub(super) fn counter(&self, counter: Counter) -> Result<Term, Unsupported> {
        self.counters.get(&counter).cloned().ok_or_else(unfit)
    }

    /// The value of a sum here.
    pub(super) fn sum(&mut self, sum: &Sum) -> Result<Term, Unsupported> {
        let mut parts = Vec::new();
        for product in &sum.0 {
            let mut factors = Vec::new();
            for name in &product.of {
                factors.push(match name {
                    Name::Param(at) => self.names.params.get(*at).cloned().ok_or_else(unfit)?,
                    Name::Var(at) => {
                        let value = self.names.vars.get(&VarId(*at));
                        value.cloned().ok_or_else(unfit)?
                    }
                    Name::Done(number) => self.done.get(number).cloned().ok_or_else(unfit)?,
                    Name::Counter(counter) => self.counter(*counter)?,
                });
            }
            if let [by @ .., last] = &factors[..]
                && !by.is_empty()
            {
                self.products.insert((by.to_vec(), last.clone()));
            }
            factors.insert(0, term::int(product.times));
            parts.push(term::product(factors));
        }
        Ok(term::sum(parts))
    }

    fn fact(&mut self, fact: &Fact) -> Result<Term, Unsupported> {
        let zero = term::int(0);
        Ok(match fact {
            Fact::Zero(sum) => term::eq(&zero, &self.sum(sum)?),
            Fact::AtLeastZero(sum) => term::le(&zero, &self.sum(sum)?),
            Fact::Either(a, b) => {
                let (a, b) = (self.sum(a)?, self.sum(b)?);
                term::or([term::eq(&zero, &a), term::eq(&zero, &b)])
            }
        })
    }

    /// The start: some member exists, and nothing has been counted.
    fn begin(&mut self) -> Result<(), Unsupported> {
        self.facts = self.world.declared.facts.clone();
        for range in &self.this().ranges {
            let value = match range.only() {
                Some(value) => term::int(value),
                None => self.constant("index"),
            };
            let extent = self.names.term(&range.extent)?;
            self.facts
                .push(term::within(&term::int(range.lo), &value, &extent));
            if let Some(hi) = range.hi {
                self.facts.push(term::lt(&value, &term::int(hi)));
            }
            self.names.vars.insert(range.var, value);
            self.fixed.push(range.var);
        }
        for counter in counted(&self.this().body) {
            self.counters.insert(counter, term::int(0));
        }
        let mut start = self.behind()?;
        for holds in &self.local()?.holds {
            let most = self.world.over_parameters(&holds.most)?;
            start.push(term::le(&term::int(0), &most));
        }
        start.extend(self.weights_count()?);
        self.conclude(
            "start",
            "what holds everywhere holds at the start".to_owned(),
            start,
        );
        Ok(())
    }

    /// That arrivals count at least 1, also those that are never made: others rely on it that no number is done without them.
    fn weights_count(&self) -> Result<Vec<Term>, Unsupported> {
        let mut all = Vec::new();
        for (ring, of) in self.system().rings.iter().enumerate() {
            let is_pool = matches!(self.system().kind(ring), ObjectKind::Pool { .. });
            if !is_pool && of.arriving.contains(&self.class) {
                let weights = self.world.weights(self.class, ring)?.into_iter();
                let weights = weights.filter(|weight| *weight != term::int(1));
                all.extend(weights.map(|weight| term::le(&term::int(1), &weight)));
            }
        }
        Ok(all)
    }

    /// The end: everything that was expected has been delivered.
    fn end(&mut self) -> Result<(), Unsupported> {
        let settled = [self.settled(), self.empty_handed()].concat();
        let meaning = format!("{} delivers all that it expects", self.this().name);
        self.conclude("settled", meaning, settled);
        let (facts, counters) = (self.known(), self.counters.clone());
        self.scenes.push(Scene {
            facts,
            counters,
            wait: None,
        });
        Ok(())
    }

    /// That no bytes are missing that this member expects.
    pub(super) fn settled(&self) -> Vec<Term> {
        let missing =
            |counter: &Counter| matches!(counter, Counter::Expected(_) | Counter::Owed(_));
        let missing = self.counters.iter().filter(|(counter, _)| missing(counter));
        missing
            .map(|(_, bytes)| term::eq(bytes, &term::int(0)))
            .collect()
    }

    /// What the certificate says holds everywhere.
    fn behind(&self) -> Result<Vec<Term>, Unsupported> {
        let all = self.local()?.behind.iter();
        all.map(|behind| self.is_behind(behind)).collect()
    }

    pub(super) fn is_behind(&self, behind: &Behind) -> Result<Term, Unsupported> {
        let waits = self.counter(Counter::Awaited(behind.waits))?;
        let arrives = self.counter(Counter::Arrived(behind.arrives))?;
        let less = self.world.less(behind)?;
        let waits = term::product([term::int(behind.per_wait), waits]);
        let arrives = term::product([term::int(behind.per_arrival), arrives]);
        Ok(term::le(&arrives, &term::sum([waits, less])))
    }

    /// What holds of counters whatever is done.
    fn well_formed(&mut self) -> Result<Vec<Term>, Unsupported> {
        let zero = term::int(0);
        let mut all = Vec::new();
        for counter in self.counters.keys().copied().collect::<Vec<_>>() {
            let value = self.counter(counter)?;
            match counter {
                Counter::Arrived(ring) => {
                    let (turn, at) = (Counter::ArrivedTurn(ring), Counter::ArrivedAt(ring));
                    all.extend(self.pair(ring, value, turn, at)?);
                }
                Counter::Awaited(ring) => {
                    let (turn, at) = (Counter::AwaitedTurn(ring), Counter::AwaitedAt(ring));
                    all.extend(self.pair(ring, value, turn, at)?);
                    let bit = self.counter(Counter::AwaitedBit(ring))?;
                    let turn = self.counter(turn)?;
                    all.push(term::eq(&bit, &term::apply("mod", &[turn, term::int(2)])));
                    all.push(term::within(&zero, &bit, &term::int(2)));
                }
                Counter::Iterations(_)
                | Counter::Expected(_)
                | Counter::Owed(_)
                | Counter::Held(_) => all.push(term::le(&zero, &value)),
                Counter::Part(ring) => {
                    let units = self.world.weights(self.class, ring)?.len();
                    let units = term::int(super::exact::number(units)?);
                    all.push(term::within(&zero, &value, &units));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// `counter = turn * size + at`, with `at` in `0..size`; sizes are at least 1.
    pub(super) fn pair(
        &mut self,
        ring: usize,
        value: Term,
        turn: Counter,
        at: Counter,
    ) -> Result<Vec<Term>, Unsupported> {
        let (turn, at) = (self.counter(turn)?, self.counter(at)?);
        let size = self.world.size(ring);
        let zero = term::int(0);
        let mut all = vec![term::le(&zero, &value), term::le(&zero, &turn)];
        if self.system().rings[ring].moving().is_some() {
            all.push(term::within(&zero, &at, &size));
            let product = term::product([turn.clone(), size.clone()]);
            all.push(term::eq(&value, &term::sum([product, at.clone()])));
            if !size.is_literal() {
                self.pairs.insert([value, size, turn, at]);
            }
        }
        Ok(all)
    }

    pub(super) fn block(&mut self, body: &[Node]) -> Result<(), Unsupported> {
        for node in body {
            Unsupported::unless_in_time()?;
            match node {
                Node::Assign(var, value, span) => self.assign(*var, value, *span)?,
                Node::Branch(condition, then, otherwise, span) => {
                    self.branch(condition, [then, otherwise], *span)?
                }
                Node::Loop(looped) => self.looped(looped)?,
                Node::Act(act) => self.act(act)?,
            }
        }
        Ok(())
    }

    pub(super) fn quote(&self, span: Span) -> String {
        let text = super::unsupported::quote(self.system().protocol, span);
        format!("{text} of {}", self.this().name)
    }

    /// The value of an expression that is evaluated here; it has to be defined.
    pub(super) fn evaluated(&mut self, expr: &Expr, span: Span) -> Result<Term, Unsupported> {
        let defined = self.names.defined(expr)?;
        let meaning = format!("{} is defined", self.quote(span));
        self.conclude("defined", meaning, vec![defined]);
        self.names.term(expr)
    }

    fn assign(&mut self, var: VarId, value: &Expr, span: Span) -> Result<(), Unsupported> {
        if self.fixed.contains(&var) {
            return Err(Unsupported::at(span, "an assignment to an index"));
        }
        let value = self.evaluated(value, span)?;
        let value = self.define("var", value);
        self.names.vars.insert(var, value);
        Ok(())
    }

    fn branch(
        &mut self,
        condition: &Expr,
        blocks: [&[Node]; 2],
        span: Span,
    ) -> Result<(), Unsupported> {
        let holds = self.evaluated(condition, span)?;
        let (vars, counters) = (self.names.vars.clone(), self.counters.clone());
        let mut ends = Vec::new();
        for (block, guard) in blocks
            .into_iter()
            .zip([holds.clone(), term::not(holds.clone())])
        {
            self.names.vars.clone_from(&vars);
            self.counters.clone_from(&counters);
            let begin = self.facts.len();
            self.facts.push(guard.clone());
            self.block(block)?;
            // What is known at the end of the block is known only where the guard held.
            for fact in &mut self.facts[begin..] {
                *fact = term::or([term::not(guard.clone()), fact.clone()]);
            }
            let after = (
                std::mem::take(&mut self.names.vars),
                std::mem::take(&mut self.counters),
            );
            ends.push(after);
        }
        let Some((otherwise, then)) = ends.pop().zip(ends.pop()) else {
            return Err(unfit());
        };
        for var in sorted(&vars) {
            let (Some(a), Some(b)) = (then.0.get(&var), otherwise.0.get(&var)) else {
                continue;
            };
            let merged = self.merged(&holds, a, b);
            self.names.vars.insert(var, merged);
        }
        for counter in counters.into_keys() {
            let (Some(a), Some(b)) = (then.1.get(&counter), otherwise.1.get(&counter)) else {
                return Err(unfit());
            };
            let merged = self.merged(&holds, a, b);
            self.counters.insert(counter, merged);
        }
        Ok(())
    }

    /// Counters have the values that they have now where a condition holds, and those before otherwise.
    pub(super) fn unless(
        &mut self,
        holds: &Term,
        before: BTreeMap<Counter, Term>,
    ) -> Result<(), Unsupported> {
        for (counter, before) in before {
            let now = self.counter(counter)?;
            let merged = self.merged(holds, &now, &before);
            self.counters.insert(counter, merged);
        }
        Ok(())
    }

    fn merged(&mut self, holds: &Term, a: &Term, b: &Term) -> Term {
        if a == b {
            return a.clone();
        }
        self.define("either", term::ite(holds, a, b))
    }

    fn looped(&mut self, looped: &Loop) -> Result<(), Unsupported> {
        let lo = self.evaluated(&looped.lo, looped.span)?;
        let hi = self.evaluated(&looped.hi, looped.span)?;
        let (lo, hi) = (self.define("lo", lo), self.define("hi", hi));
        let zero = term::int(0);
        let length = term::sub(&hi, &lo);
        let trips = self.define(
            "trips",
            term::ite(&term::le(&zero, &length), &length, &zero),
        );
        let facts = self.local()?.loops.get(looped.number).ok_or_else(unfit)?;
        let iterations = Counter::Iterations(looped.number);
        let before = self.counter(iterations)?;
        self.done.insert(looped.number, zero.clone());
        self.kept(facts, looped, "when it is reached")?;

        let outside: Vec<VarId> = sorted(&self.names.vars);
        let mut vars = Vec::new();
        assigned(&looped.body, &mut vars);
        let mut counters = counted(&looped.body);
        counters.insert(iterations);
        let begin = self.facts.len();
        let (vars_before, counters_before) = (self.names.vars.clone(), self.counters.clone());

        // An iteration.
        let done = self.constant("done");
        self.anywhere(&vars, &counters, looped, [&done, &before], facts)?;
        self.facts.push(term::within(&zero, &done, &trips));
        let value = if looped.descending {
            term::sub(&hi, &term::sum([done.clone(), term::int(1)]))
        } else {
            term::sum([lo.clone(), done.clone()])
        };
        self.names.vars.insert(looped.var, value);
        self.fixed.push(looped.var);
        self.block(&looped.body)?;
        self.fixed.pop();
        let next = term::sum([done, term::int(1)]);
        self.done.insert(looped.number, next.clone());
        let iterated = self.define("iterations", term::sum([before.clone(), next]));
        self.counters.insert(iterations, iterated);
        self.names.vars.retain(|var, _| outside.contains(var));
        self.kept(facts, looped, "after an iteration")?;

        // After the last.
        self.facts.truncate(begin);
        self.names.vars = vars_before;
        self.counters = counters_before;
        self.anywhere(&vars, &counters, looped, [&trips, &before], facts)?;
        self.done.remove(&looped.number);
        Ok(())
    }

    /// The facts about a loop have to hold here.
    fn kept(&mut self, facts: &[Fact], looped: &Loop, when: &str) -> Result<(), Unsupported> {
        let goals: Result<Vec<Term>, Unsupported> =
            facts.iter().map(|fact| self.fact(fact)).collect();
        let meaning = format!("the facts about {} hold {when}", self.quote(looped.span));
        self.conclude("kept", meaning, goals?);
        Ok(())
    }

    /// Some state at the head of a loop, so many iterations of which are done.
    fn anywhere(
        &mut self,
        vars: &[VarId],
        counters: &BTreeSet<Counter>,
        looped: &Loop,
        [done, before]: [&Term; 2],
        facts: &[Fact],
    ) -> Result<(), Unsupported> {
        for var in vars {
            if self.names.vars.contains_key(var) {
                let value = self.constant("var");
                self.names.vars.insert(*var, value);
            }
        }
        for counter in counters {
            // Of one arrival none is made before it.
            if let Counter::Part(ring) = counter
                && self.world.weights(self.class, *ring)?.len() == 1
            {
                continue;
            }
            let value = self.constant("count");
            self.counters.insert(*counter, value);
        }
        // An element by itself is always the next one.
        for counter in counters {
            let single = |ring: &usize| self.world.system.rings[*ring].moving().is_none();
            let same = match counter {
                Counter::ArrivedTurn(ring) if single(ring) => {
                    self.counter(Counter::Arrived(*ring))?
                }
                Counter::AwaitedTurn(ring) if single(ring) => {
                    self.counter(Counter::Awaited(*ring))?
                }
                Counter::ArrivedAt(ring)
                | Counter::AwaitedAt(ring)
                | Counter::ArrivedLast(ring)
                    if single(ring) =>
                {
                    term::int(0)
                }
                _ => continue,
            };
            self.counters.insert(*counter, same);
        }
        self.done.insert(looped.number, done.clone());
        let iterations = Counter::Iterations(looped.number);
        let iterated = self.define("iterations", term::sum([before.clone(), done.clone()]));
        self.counters.insert(iterations, iterated);
        let mut known = self.well_formed()?;
        known.extend(self.behind()?);
        for fact in facts {
            known.push(self.fact(fact)?);
        }
        self.facts.push(term::le(&term::int(0), done));
        self.facts.extend(known);
        Ok(())
    }
}

fn sorted(vars: &HashMap<VarId, Term>) -> Vec<VarId> {
    let mut all: Vec<VarId> = vars.keys().copied().collect();
    all.sort_unstable();
    all
}
