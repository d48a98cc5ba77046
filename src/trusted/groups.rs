//! Groups of a ring: which members do something to one, how many arrive there, and what they arrive with.
//!
//! A class names each own index of a ring by a number, or by an expression of one index of its role. By an obligation,
//! the own index determines that index of the role ([`Own`]). So the members of a class in a group are those whose
//! indices have certain values, in the ranges of the class. Their other indices have every combination of values. So
//! there are as many members as the product of the numbers of these values, or none.

use std::collections::HashMap;

use super::expression::Names;
use super::member::unfit;
use super::rings::Own;
use super::system::Range;
use super::term;
use super::term::Term;
use super::unsupported::Unsupported;
use super::world::World;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::VarId;

impl World<'_, '_> {
    /// Any group of a ring.
    pub(super) fn group(&mut self, ring: usize) -> Vec<Term> {
        let owns = self.system.rings[ring].owns();
        let names: Vec<String> = owns.map(|at| format!("group_{ring}_{at}")).collect();
        self.constants.extend(names.iter().cloned());
        names.iter().map(|name| term::name(name)).collect()
    }

    /// That a group has elements, as far as its own indices go.
    pub(super) fn exists(
        &self,
        ring: usize,
        group: &[Term],
        names: &mut Names,
    ) -> Result<Term, Unsupported> {
        let ring = &self.system.rings[ring];
        let extents = &self.system.protocol.objects[ring.object].extents;
        let mut all = Vec::new();
        for (value, at) in group.iter().zip(ring.owns()) {
            let extent = names.term(&extents[at])?;
            all.push(term::within(&term::int(0), value, &extent));
        }
        Ok(term::and(all))
    }

    /// How a class names the own indices of a ring where it waits, or where it does something else.
    fn own(&self, class: usize, ring: usize, waits: bool) -> Result<&[Own], Unsupported> {
        let ring = self.system.rings.get(ring).ok_or_else(unfit)?;
        let own = ring.own.get(&(class, waits)).ok_or_else(unfit)?;
        Ok(own)
    }

    /// The value of an expression over these indices.
    fn valued(&self, expr: &Expr, vars: &HashMap<VarId, Term>) -> Result<Term, Unsupported> {
        let mut names = self.names();
        names.vars.clone_from(vars);
        names.term(expr)
    }

    /// The group of a ring in which a member of a class waits, or does something else, whose indices have these values.
    pub(super) fn group_of(
        &self,
        class: usize,
        ring: usize,
        waits: bool,
        vars: &HashMap<VarId, Term>,
    ) -> Result<Vec<Term>, Unsupported> {
        let own = self.own(class, ring, waits)?.iter();
        own.map(|own| self.valued(&own.value, vars)).collect()
    }

    /// The indices of members of a class in a group that are the same for all of them.
    pub(super) fn shared(
        &self,
        class: usize,
        ring: usize,
        waits: bool,
        group: &[Term],
    ) -> Result<HashMap<VarId, Term>, Unsupported> {
        // Who does nothing at the ring may be no class.
        let own = self.own(class, ring, waits)?;
        let ranges = self.system.classes[class].ranges.iter();
        let only = ranges.filter_map(|range| Some((range.var, term::int(range.only()?))));
        let mut vars: HashMap<VarId, Term> = only.collect();
        for (own, value) in own.iter().zip(group) {
            if let Some((var, inverse)) = &own.inverse {
                let value = self.valued(inverse, &HashMap::from([(*var, value.clone())]))?;
                vars.insert(*var, value);
            }
        }
        Ok(vars)
    }

    /// That the group of a member tells the indices that it is made of.
    pub(super) fn told(&mut self, ring: usize) -> Result<(), Unsupported> {
        for (class, waits) in self.system.rings[ring].own.keys().copied() {
            let (mut vars, mut names, mut inside) = (HashMap::new(), Vec::new(), Vec::new());
            for (at, range) in self.system.classes[class].ranges.iter().enumerate() {
                let name = format!("told_{ring}_{class}_{at}");
                let value = term::name(&name);
                inside.push(term::not(self.is_in(range, &value)?));
                vars.insert(range.var, value);
                names.push(name);
            }
            let group = self.group_of(class, ring, waits, &vars)?;
            let shared = self.shared(class, ring, waits, &group)?;
            let mut goals = Vec::new();
            for (var, _) in self
                .own(class, ring, waits)?
                .iter()
                .filter_map(|own| own.inverse.as_ref())
            {
                let (own, told) = (vars.get(var), shared.get(var));
                let (own, told) = own.zip(told).ok_or_else(unfit)?;
                goals.push(term::eq(own, told));
            }
            let goal = term::and(goals);
            if goal != term::boolean(true) && !self.constants.contains(&names[0]) {
                self.constants.extend(names);
            }
            let goal = term::or(inside.into_iter().chain([goal]));
            let meaning = "the index of a group tells that of the member".to_owned();
            let names = self.names();
            self.declared.conclude("told", meaning, &names, goal);
        }
        Ok(())
    }

    /// The indices of some member of a class in a group, and what has to hold for there to be one.
    pub(super) fn witness(
        &self,
        class: usize,
        ring: usize,
        group: &[Term],
    ) -> Result<(HashMap<VarId, Term>, Vec<Term>), Unsupported> {
        let mut vars = self.shared(class, ring, false, group)?;
        let mut needed = Vec::new();
        for range in &self.system.classes[class].ranges {
            let least = term::int(range.lo);
            let value = vars.entry(range.var).or_insert_with(|| least.clone());
            if !group.is_empty() {
                needed.push(self.is_in(range, value)?);
            }
        }
        if group.is_empty() {
            let members = self.members.get(class).ok_or_else(unfit)?;
            needed.push(term::le(&term::int(1), members));
        }
        needed.extend(term::same(
            &self.group_of(class, ring, false, &vars)?,
            group,
        ));
        Ok((vars, needed))
    }

    /// That an index of a class has a value.
    fn is_in(&self, range: &Range, value: &Term) -> Result<Term, Unsupported> {
        let extent = self.names().term(&range.extent)?;
        let inside = term::within(&term::int(range.lo), value, &extent);
        let below = range.hi.map(|hi| term::lt(value, &term::int(hi)));
        Ok(term::and([inside].into_iter().chain(below)))
    }

    /// What all members together arrive with at each number of a group; of a pool, what they hold at most.
    pub(super) fn arriving(&self, ring: usize, group: &[Term]) -> Result<Term, Unsupported> {
        let mut all = Vec::new();
        for class in &self.system.rings[ring].arriving {
            let each = match self.system.kind(ring) {
                ObjectKind::Pool { .. } => self.most(*class, ring)?.unwrap_or(term::int(0)),
                _ => term::sum(self.weights(*class, ring)?),
            };
            all.push(term::product([each, self.members_of(*class, ring, group)?]));
        }
        Ok(term::sum(all))
    }

    /// That nobody but one member arrives in a group.
    pub(super) fn alone(&self, ring: usize, group: &[Term]) -> Result<Term, Unsupported> {
        let arriving = self.system.rings[ring].arriving.iter();
        let each = arriving.map(|class| self.members_of(*class, ring, group));
        let each: Result<Vec<Term>, Unsupported> = each.collect();
        Ok(term::eq(&term::sum(each?), &term::int(1)))
    }

    /// How many members of a class arrive in a group.
    fn members_of(&self, class: usize, ring: usize, group: &[Term]) -> Result<Term, Unsupported> {
        if group.is_empty() {
            return self.members.get(class).cloned().ok_or_else(unfit);
        }
        let own = self.own(class, ring, false)?;
        let vars = self.shared(class, ring, false, group)?;
        let mut holds = term::same(&self.group_of(class, ring, false, &vars)?, group);
        let mut others = Vec::new();
        for range in &self.system.classes[class].ranges {
            let made = |own: &Own| {
                own.inverse
                    .as_ref()
                    .is_some_and(|(var, _)| *var == range.var)
            };
            match vars.get(&range.var) {
                Some(value) if own.iter().any(made) => holds.push(self.is_in(range, value)?),
                _ => others.push(values(range, &self.names().term(&range.extent)?)),
            }
        }
        let members = term::product(others);
        Ok(term::ite(&term::and(holds), &members, &term::int(0)))
    }

    /// What the arrivals of a member of a class at one number count.
    pub(super) fn weights(&self, class: usize, ring: usize) -> Result<Vec<Term>, Unsupported> {
        let mut all = self.certificate.weights.iter();
        match all.find(|weight| weight.class == class && weight.ring == ring) {
            None => Ok(vec![term::int(1)]),
            Some(weight) if weight.amounts.is_empty() => Err(unfit()),
            Some(weight) => {
                let amounts = weight.amounts.iter();
                amounts.map(|sum| self.over_parameters(sum)).collect()
            }
        }
    }

    /// What a member of a class holds at most of the pool of a ring, if the certificate says so.
    pub(super) fn most(&self, class: usize, ring: usize) -> Result<Option<Term>, Unsupported> {
        let mut all = self.local(class)?.holds.iter();
        let found = all.find(|holds| holds.ring == ring);
        found
            .map(|holds| self.over_parameters(&holds.most))
            .transpose()
    }

    /// Whether the certificate says that a pool has enough for everybody.
    pub(super) fn is_ample(&self, ring: usize) -> bool {
        let mut all = self.certificate.classes.iter();
        all.any(|class| class.holds.iter().any(|holds| holds.ring == ring))
    }
}

/// How many values an index has.
pub(super) fn values(range: &Range, extent: &Term) -> Term {
    let zero = term::int(0);
    let end = match range.hi.map(term::int) {
        Some(hi) => term::ite(&term::le(&hi, extent), &hi, extent),
        None => extent.clone(),
    };
    let values = term::sub(&end, &term::int(range.lo));
    term::ite(&term::le(&zero, &values), &values, &zero)
}
