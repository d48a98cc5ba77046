//! What all members share: parameters, the sizes of classes and rings, what completes an element, and what a member
//! knows of others.

use super::certificate::Certificate;
use super::certificate::Local;
use super::certificate::Name;
use super::certificate::Sum;
use super::declared::Declared;
use super::expression::Names;
use super::groups::values;
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
    /// The parameters, what holds of them, and what has to hold.
    pub declared: Declared,
    /// The constants beside the parameters.
    pub constants: Vec<String>,
    /// Per class: how many members it has.
    pub(super) members: Vec<Term>,
    /// Per ring: how many elements a group has.
    pub(super) sizes: Vec<Term>,
}

impl<'a, 'p> World<'a, 'p> {
    /// The world of a system, and what has to hold of it: declarations are defined, rings have elements, and as many
    /// members arrive as an element expects.
    ///
    /// # Errors
    ///
    /// An expression without a term.
    pub fn new(
        system: &'a System<'p>,
        certificate: &'a Certificate,
    ) -> Result<World<'a, 'p>, Unsupported> {
        let mut world = World {
            system,
            certificate,
            declared: Declared::new(system.protocol)?,
            constants: Vec::new(),
            members: Vec::new(),
            sizes: Vec::new(),
        };
        world.classes()?;
        world.rings()?;
        Ok(world)
    }

    pub(super) fn names(&self) -> Names {
        self.declared.names()
    }

    /// How many members there are: the number of values of all indices together.
    fn classes(&mut self) -> Result<(), Unsupported> {
        let zero = term::int(0);
        for (number, class) in self.system.classes.iter().enumerate() {
            let mut names = self.names();
            let mut all = Vec::new();
            for range in &class.ranges {
                let defined = names.defined(&range.extent)?;
                self.declared.conclude(
                    "defined",
                    format!("the extents of {} are defined", class.name),
                    &names,
                    defined,
                );
                let extent = names.term(&range.extent)?;
                all.push(values(range, &extent));
            }
            let name = format!("members_{number}");
            let members = term::name(&name);
            self.declared.facts.extend(names.division(&[]));
            self.declared
                .facts
                .push(term::eq(&members, &term::product(all)));
            self.declared.facts.push(term::le(&zero, &members));
            self.constants.push(name);
            self.members.push(members);
        }
        Ok(())
    }

    fn rings(&mut self) -> Result<(), Unsupported> {
        for (number, ring) in self.system.rings.iter().enumerate() {
            let object = &self.system.protocol.objects[ring.object];
            let mut names = self.names();
            let mut goals = Vec::new();
            let size = match ring.moving() {
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
            self.told(number)?;
            let group = self.group(number);
            let arriving = self.arriving(number, &group)?;
            let (expected, needed) = match &object.kind {
                // Nothing is initialised twice.
                _ if ring.init => (term::le(&arriving, &term::int(1)), term::boolean(true)),
                ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                    let same = term::eq(&names.term(arrivals)?, &arriving);
                    (same, term::le(&term::int(1), &arriving))
                }
                ObjectKind::Pool { capacity, .. } if self.is_ample(number) => {
                    let enough = term::le(&arriving, &names.term(capacity)?);
                    (enough, term::boolean(true))
                }
                _ => (term::boolean(true), term::boolean(true)),
            };
            let meaning = match object.kind {
                ObjectKind::Pool { .. } => format!("`{}` has enough for everybody", object.name),
                _ => format!("as many members arrive at `{}` as it expects", object.name),
            };
            let here = self.exists(number, &group, &mut names)?;
            let both = term::and([expected.clone(), needed.clone()]);
            let all = goals.iter().cloned();
            let all = term::and(all.chain([term::or([term::not(here), both])]));
            self.declared.conclude("expected", meaning, &names, all);
            // Shown once, known from then on; of groups, it is known of none in particular.
            self.declared.facts.extend(names.division(&[]));
            self.declared.facts.extend(goals);
            if group.is_empty() {
                self.declared.facts.extend([expected, needed]);
            }
            self.sizes.push(size);
        }
        Ok(())
    }

    /// The size of a ring, or 1 if it has no elements. Then nobody comes to an act there, since its element exists.
    fn size_or_one(&mut self, ring: usize, extent: &Term) -> Term {
        let one = term::int(1);
        let name = format!("size_{ring}");
        let size = term::name(&name);
        let value = term::ite(&term::le(&one, extent), extent, &one);
        self.declared.facts.push(term::eq(&size, &value));
        self.declared.facts.push(term::le(&one, &size));
        self.constants.push(name);
        size
    }

    /// Whether an extent is clearly at least 1. Other extents may be so as well.
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

    /// How many elements a group of a ring has.
    pub fn size(&self, ring: usize) -> Term {
        self.sizes[ring].clone()
    }

    /// What the certificate says of a class.
    ///
    /// # Errors
    ///
    /// It says nothing.
    pub fn local(&self, class: usize) -> Result<&'a Local, Unsupported> {
        self.certificate.classes.get(class).ok_or_else(unfit)
    }

    /// How many rounds the waits of a class at a ring are behind.
    ///
    /// # Errors
    ///
    /// Neither none nor one.
    pub fn rounds(&self, class: usize, ring: usize) -> Result<i64, Unsupported> {
        let mut lags = self.certificate.lags.iter();
        let lag = lags.find(|lag| lag.class == class && lag.ring == ring);
        match lag.map_or(0, |lag| lag.rounds) {
            rounds @ 0..=1 => Ok(rounds),
            _ => Err(unfit()),
        }
    }

    /// The same in elements.
    ///
    /// # Errors
    ///
    /// As for [`World::rounds`], or a ring that there is not.
    pub fn lag(&self, class: usize, ring: usize) -> Result<Term, Unsupported> {
        let size = self.sizes.get(ring).ok_or_else(unfit)?;
        let rounds = self.rounds(class, ring)?;
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
                factors.push(self.declared.params.get(*at).cloned().ok_or_else(unfit)?);
            }
            parts.push(term::product(factors));
        }
        Ok(term::sum(parts))
    }

    /// The value that a semaphore of a ring has at the start.
    ///
    /// # Errors
    ///
    /// Another object, or an expression without a term.
    pub fn initial(&self, ring: usize) -> Result<Term, Unsupported> {
        match self.system.kind(ring) {
            ObjectKind::Semaphore(Initial::Value(value)) => self.names().term(value),
            _ => Err(unfit()),
        }
    }
}
