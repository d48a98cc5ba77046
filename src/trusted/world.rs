//! What all members share: parameters, the sizes of classes and lanes, what completes an element, and what a member
//! knows of others.

use std::collections::BTreeMap;

use super::certificate::Behind;
use super::certificate::Certificate;
use super::certificate::Counter;
use super::certificate::Link;
use super::certificate::Local;
use super::certificate::Name;
use super::certificate::Sum;
use super::declared::Declared;
use super::expression::Names;
use super::member::Goal;
use super::member::unfit;
use super::system::System;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::ObjectKind;

/// What all members share.
pub struct World<'a, 'p> {
    /// The system.
    pub system: &'a System<'p>,
    /// What is to be checked.
    pub certificate: &'a Certificate,
    /// The parameters.
    pub params: Vec<Term>,
    /// What holds of them: the domain, the assumptions, and how many members the classes have.
    pub facts: Vec<Term>,
    /// What has to hold of them.
    pub goals: Vec<Goal>,
    /// The constants beside the parameters.
    pub constants: Vec<String>,
    /// Per class: how many members it has.
    members: Vec<Term>,
    /// Per lane: how many elements it has.
    sizes: Vec<Term>,
}

impl<'a, 'p> World<'a, 'p> {
    /// The world of a system, and what has to hold of it: declarations are defined, lanes have elements, and as many
    /// members arrive as an element expects.
    ///
    /// # Errors
    ///
    /// An expression without a term.
    pub fn new(
        system: &'a System<'p>,
        certificate: &'a Certificate,
    ) -> Result<World<'a, 'p>, Unsupported> {
        let Declared {
            params,
            facts,
            goals,
        } = Declared::new(system.protocol)?;
        let mut world = World {
            system,
            certificate,
            params,
            facts,
            goals,
            constants: Vec::new(),
            members: Vec::new(),
            sizes: Vec::new(),
        };
        world.classes()?;
        world.lanes()?;
        Ok(world)
    }

    fn names(&self) -> Names {
        Names::new(self.params.clone(), Vec::new())
    }

    fn conclude(&mut self, name: &'static str, meaning: String, names: &Names, goal: Term) {
        if goal == term::boolean(true) {
            return;
        }
        let mut facts = self.facts.clone();
        facts.extend(names.division(&[]));
        self.goals.push(Goal {
            name,
            meaning,
            facts,
            goal,
            functions: Vec::new(),
        });
    }

    /// How many members there are: the number of values of all indices together.
    fn classes(&mut self) -> Result<(), Unsupported> {
        let zero = term::int(0);
        for (number, class) in self.system.classes.iter().enumerate() {
            let mut names = self.names();
            let mut all = Vec::new();
            for range in &class.ranges {
                let defined = names.defined(&range.extent)?;
                self.conclude(
                    "defined",
                    format!("the extents of {} are defined", class.name),
                    &names,
                    defined,
                );
                let extent = names.term(&range.extent)?;
                let end = match range.hi.map(term::int) {
                    Some(hi) => term::ite(&term::le(&hi, &extent), &hi, &extent),
                    None => extent,
                };
                let values = term::sub(&end, &term::int(range.lo));
                all.push(term::ite(&term::le(&zero, &values), &values, &zero));
            }
            let name = format!("members_{number}");
            let members = term::name(&name);
            self.facts.extend(names.division(&[]));
            self.facts.push(term::eq(&members, &term::product(all)));
            self.facts.push(term::le(&zero, &members));
            self.constants.push(name);
            self.members.push(members);
        }
        Ok(())
    }

    fn lanes(&mut self) -> Result<(), Unsupported> {
        for (number, lane) in self.system.lanes.iter().enumerate() {
            let object = &self.system.protocol.objects[lane.object];
            let mut names = self.names();
            let mut goals = Vec::new();
            let size = match lane.moving() {
                Some(at) if self.is_positive(&object.extents[at]) => {
                    let size = names.term(&object.extents[at])?;
                    goals.push(term::le(&term::int(1), &size));
                    size
                }
                Some(at) => {
                    let extent = names.term(&object.extents[at])?;
                    self.size_or_one(number, &extent)
                }
                None => term::int(1),
            };
            let arriving = self.arriving(number);
            if let ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } =
                &object.kind
            {
                goals.push(term::eq(&names.term(arrivals)?, &arriving));
                goals.push(term::le(&term::int(1), &arriving));
            }
            let meaning = format!("as many members arrive at `{}` as it expects", object.name);
            self.conclude("expected", meaning, &names, term::and(goals.clone()));
            // Shown once, known from then on.
            self.facts.extend(names.division(&[]));
            self.facts.extend(goals);
            self.sizes.push(size);
        }
        Ok(())
    }

    /// The size of a lane, or 1 where it has no elements: then nobody comes to an act there, since its element exists.
    fn size_or_one(&mut self, lane: usize, extent: &Term) -> Term {
        let one = term::int(1);
        let name = format!("size_{lane}");
        let size = term::name(&name);
        let value = term::ite(&term::le(&one, extent), extent, &one);
        self.facts.push(term::eq(&size, &value));
        self.facts.push(term::le(&one, &size));
        self.constants.push(name);
        size
    }

    /// Whether an extent is seen to be at least 1. What is not may be so all the same.
    fn is_positive(&self, extent: &Expr) -> bool {
        match extent {
            Expr::Int(value) => *value >= 1,
            Expr::Param(id) => match self.system.protocol.params.get(id.0).map(|p| &p.domain) {
                Some(Domain::AtLeast(lo) | Domain::Range(lo, _)) => *lo >= 1,
                Some(Domain::Set(values)) => values.iter().all(|value| *value >= 1),
                None => false,
            },
            Expr::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min, a, b) => {
                self.is_positive(a) && self.is_positive(b)
            }
            _ => false,
        }
    }

    /// How many members arrive at a lane.
    pub fn arriving(&self, lane: usize) -> Term {
        let classes = &self.system.lanes[lane].arriving;
        term::sum(classes.iter().map(|class| self.members[*class].clone()))
    }

    /// How many elements a lane has.
    pub fn size(&self, lane: usize) -> Term {
        self.sizes[lane].clone()
    }

    /// What the certificate says of a class.
    ///
    /// # Errors
    ///
    /// It says nothing.
    pub fn local(&self, class: usize) -> Result<&'a Local, Unsupported> {
        self.certificate.classes.get(class).ok_or_else(unfit)
    }

    /// How many rounds the waits of a class at a lane are behind.
    ///
    /// # Errors
    ///
    /// Neither none nor one.
    pub fn rounds(&self, class: usize, lane: usize) -> Result<i64, Unsupported> {
        let mut lags = self.certificate.lags.iter();
        let lag = lags.find(|lag| lag.class == class && lag.lane == lane);
        match lag.map_or(0, |lag| lag.rounds) {
            rounds @ 0..=1 => Ok(rounds),
            _ => Err(unfit()),
        }
    }

    /// The same in elements.
    ///
    /// # Errors
    ///
    /// As for [`World::rounds`], or a lane that there is not.
    pub fn lag(&self, class: usize, lane: usize) -> Result<Term, Unsupported> {
        let size = self.sizes.get(lane).ok_or_else(unfit)?;
        let rounds = self.rounds(class, lane)?;
        Ok(term::product([term::int(rounds), size.clone()]))
    }

    /// A sum over parameters alone.
    ///
    /// # Errors
    ///
    /// One that names something else.
    pub fn over_parameters(&self, sum: &Sum) -> Result<Term, Unsupported> {
        let mut parts = Vec::new();
        for product in &sum.0 {
            let mut factors = vec![term::int(product.times)];
            for name in &product.of {
                let Name::Param(at) = name else {
                    return Err(unfit());
                };
                factors.push(self.params.get(*at).cloned().ok_or_else(unfit)?);
            }
            parts.push(term::product(factors));
        }
        Ok(term::sum(parts))
    }

    /// That a class has members.
    pub fn inhabited(&self, class: usize) -> Result<Term, Unsupported> {
        let members = self.members.get(class).ok_or_else(unfit)?;
        Ok(term::le(&term::int(1), members))
    }

    /// How many numbers are done at the lane of the last link, at least, where a member has counted this; and what
    /// has to hold for that.
    ///
    /// # Errors
    ///
    /// A chain that does not hang together.
    pub fn done(
        &self,
        class: usize,
        counters: &BTreeMap<Counter, Term>,
        chain: &[Link],
    ) -> Result<(Term, Vec<Term>), Unsupported> {
        let (first, rest) = chain.split_first().ok_or_else(unfit)?;
        let awaited = counters
            .get(&Counter::Awaited(first.lane))
            .ok_or_else(unfit)?;
        let mut bound = term::sub(awaited, &self.lag(class, first.lane)?);
        let mut needed = Vec::new();
        let mut last = first;
        for link in rest {
            needed.push(self.inhabited(last.class)?);
            let less = self.behind(last, link.lane)?;
            let lag = self.lag(last.class, link.lane)?;
            bound = term::sub(&bound, &term::sum([less, lag]));
            last = link;
        }
        Ok((bound, needed))
    }

    /// How many waits everybody of the class of the last link has passed at a lane, at least, where a member has
    /// counted this; and what has to hold for that.
    ///
    /// # Errors
    ///
    /// A chain that does not hang together.
    pub fn passed(
        &self,
        class: usize,
        counters: &BTreeMap<Counter, Term>,
        chain: &[Link],
        lane: usize,
    ) -> Result<(Term, Vec<Term>), Unsupported> {
        let last = chain.last().ok_or_else(unfit)?;
        let (bound, needed) = self.done(class, counters, chain)?;
        Ok((term::sub(&bound, &self.behind(last, lane)?), needed))
    }

    /// By how much the waits at a lane of the members of a link may be less than their arrivals at its lane.
    fn behind(&self, link: &Link, lane: usize) -> Result<Term, Unsupported> {
        let arriving = self.system.lanes.get(link.lane).ok_or_else(unfit)?;
        if !arriving.arriving.contains(&link.class) {
            return Err(unfit());
        }
        let mut all = self.local(link.class)?.behind.iter();
        let fits = |behind: &&Behind| behind.waits == lane && behind.arrives == link.lane;
        self.over_parameters(&all.find(fits).ok_or_else(unfit)?.less)
    }

    /// The value that a semaphore of a lane has at the start.
    ///
    /// # Errors
    ///
    /// Another object, or an expression without a term.
    pub fn initial(&self, lane: usize) -> Result<Term, Unsupported> {
        match self.system.kind(lane) {
            ObjectKind::Semaphore(Initial::Value(value)) => self.constant_expression(value),
            _ => Err(unfit()),
        }
    }

    fn constant_expression(&self, expr: &Expr) -> Result<Term, Unsupported> {
        self.names().term(expr)
    }
}
