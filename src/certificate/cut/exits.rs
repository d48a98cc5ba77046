//! Barriers of CTAs that have exited: none is used from another CTA by then.
//!
//! # The conditions
//!
//! The place of each element of an object is defined, whether it is used or not.
//!
//! Take an operation on an mbarrier whose declaration says where it is, and a class of members.
//! Suppose that the operation's member runs elsewhere. Then some class has a member in the
//! barrier's CTA that has not finished as long as the operation is still to come. A cut like any
//! other shows it: with the operation's member held before it, or what it puts in flight not
//! landed, the end of that class's program lies beyond a stop.
//!
//! A state in which a member stands before the operation, or in which it is in flight, is one of the
//! system of that cut; by point (a) of the rule, the class has not come to its end, so the CTA is
//! still there.
//!
//! *Copies.* Where a protocol falls apart into independent copies (`copies.rs`), only the members of one
//! work on its barriers. One copy of any number is looked at: its members' places, and that of the barrier,
//! may depend on the number, the cuts do not. Members of other copies that run in the same CTA
//! only keep it longer.

use std::collections::BTreeSet;

use super::artefact::Moment;
use super::class::Class;
use super::count::Place;
use super::flow::Kind;
use super::rule::Held;
use super::rule::Rule;
use super::rule::all_needed;
use super::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::Home;
use crate::protocol::Scope;

/// The parts of a place.
const PARTS: [Scope; 3] = [Scope::Cta, Scope::Cluster, Scope::Gpu];

impl<'a> Rule<'a> {
    /// That no barrier is used from elsewhere once its CTA has exited.
    pub fn exits(&mut self) -> Result<(), Unsupported> {
        for class in 0..self.classes.len() {
            self.defined_place(class)?;
        }
        for object in 0..self.protocol.objects.len() {
            self.defined_home(object)?;
        }
        for nth in 0..self.case.exposures.len() {
            self.exposure(nth)?;
        }
        let mut held = BTreeSet::new();
        for class in 0..self.classes.len() {
            for site in 0..self.classes[class].flow.sites.len() {
                let object = self.classes[class].flow.sites[site].object;
                if let Some(home) = &self.protocol.objects[object.0].home {
                    self.home_is_there(home, (class, site), &mut held)?;
                }
            }
        }
        for (class, site) in held {
            self.hold(class, site, None)?;
        }
        Ok(())
    }

    /// Where each element of an object is has a value.
    fn defined_home(&mut self, object: usize) -> Result<(), Unsupported> {
        let object = &self.protocol.objects[object];
        let Some(home) = &object.home else {
            return Ok(());
        };
        let mut setting = self.setting()?;
        let mut env = Env::new();
        for (var, extent) in home.indices.iter().zip(&object.extents) {
            let extent = self.value(&mut setting, extent)?;
            let index = setting.unknown("index");
            let inside = term::within(&term::int(0), &index, &extent);
            setting.facts.push(inside);
            env.insert(*var, index);
        }
        let what = format!("where `{}` is", object.name);
        let name = format!("defined_home_{}", object.name);
        self.defined_parts(&home.place, (setting, &env), name, &what)
    }

    /// A CTA has not exited as long as an operation on its barrier is to come from elsewhere.
    fn home_is_there(
        &mut self,
        home: &'a Home,
        (class, site): (usize, usize),
        held: &mut BTreeSet<(usize, usize)>,
    ) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let mut setting = self.setting_of(class)?;
        let mut env = self.indices(&mut setting, this, "at")?;
        let copy = this.number.as_ref().map(|(var, _)| env[var].clone());
        let (iterations, inside) = setting.iterations(this, &at.path, "at")?;
        setting.facts.extend(inside);
        env.extend(iterations);
        let conditions = setting.conditions(&at.path, &env)?;
        setting.facts.extend(conditions);
        let mut needed = Vec::new();
        let mut names = Env::new();
        let own = self.copies.objects.get(&at.object.0);
        for (nth, (var, e)) in home.indices.iter().zip(&at.index).enumerate() {
            let value = match &copy {
                Some(copy) if own == Some(&nth) => copy.clone(),
                _ => setting.terms.expr(e, &env)?,
            };
            names.insert(*var, value);
        }
        let mut there = Vec::new();
        for part in PARTS {
            let written = match part {
                Scope::Cta => &home.place.cta,
                Scope::Cluster => &home.place.cluster,
                Scope::Gpu | Scope::Sys => &home.place.gpu,
            };
            there.push(match written {
                Some(e) => {
                    let e = self.replaced(e);
                    setting.terms.well_defined(&e, &names, &[], &mut needed)?;
                    setting.terms.expr(&e, &names)?
                }
                None => term::int(0),
            });
        }
        let own = self.runs_at(&mut setting, this, &env, &there)?;
        let mut ways = vec![own];
        let later = matches!(
            at.kind,
            Kind::Deliver { .. } | Kind::Arrive { commit: true, .. }
        );
        let stops = if later {
            let found = self.exposed_until(class, Moment::Landing(site));
            found.map(|exposure| &exposure.stops)
        } else {
            self.held(class, site).map(|hold| &hold.stops)
        };
        if let Some(stops) = stops {
            if !later {
                held.insert((class, site));
            }
            let from = Held {
                class,
                place: Place::Site(site),
                env: &env,
            };
            for (position, other) in self.classes.iter().enumerate() {
                let (held, copy) = (class, copy.as_ref());
                let member = self.has_member_at(&mut setting, (position, copy), held, &there)?;
                let mut all = vec![member];
                let end = Held {
                    class: position,
                    place: Place::End,
                    env: &Env::new(),
                };
                if all[0] == term::boolean(false) || other.flow.sites.is_empty() {
                    continue;
                }
                all.push(self.stopped(&mut setting, &stops[position], from, end)?);
                ways.push(term::and(all));
            }
        }
        let what = self.quote(at.span);
        self.conclude(
            format!("home_c{class}_s{site}"),
            format!(
                "the CTA of the barrier of `{what}` in {} has not exited by then",
                this.name
            ),
            setting,
            term::and([all_needed(needed), term::or(ways)]),
        )
    }

    /// Whether a member of a class with these indices runs at a place.
    fn runs_at(
        &self,
        setting: &mut Setting<'a>,
        class: &Class,
        env: &Env,
        place: &[Term],
    ) -> Result<Term, Unsupported> {
        let mut same = Vec::new();
        for (part, wanted) in PARTS.into_iter().zip(place) {
            same.push(match self.part_of(class, part) {
                Some(Some(written)) => {
                    let written = self.fix(written);
                    term::eq(&setting.terms.expr(&written, env)?, wanted)
                }
                Some(None) => term::eq(&term::int(0), wanted),
                None => term::boolean(false),
            });
        }
        Ok(term::and(same))
    }

    /// Whether a class has a member at a place, beside the one that is held. Where its members run
    /// must not depend on indices that do not tell them apart.
    fn has_member_at(
        &self,
        setting: &mut Setting<'a>,
        (position, copy): (usize, Option<&Term>),
        held: usize,
        place: &[Term],
    ) -> Result<Term, Unsupported> {
        let class = &self.classes[position];
        let free = |e: &Expr| {
            let mut free = class.free.iter();
            free.any(|(var, _)| super::algebra::mentions(e, *var))
        };
        for part in PARTS {
            if let Some(Some(written)) = self.part_of(class, part)
                && free(written)
            {
                return Ok(term::boolean(false));
            }
        }
        // Nothing may be assumed of a class that may be empty.
        let env = self.known_indices(setting, class, copy)?;
        let there = self.runs_at(setting, class, &env, place)?;
        let size = setting.terms.expr(&class.size, &Env::new())?;
        let least = term::int(if position == held { 2 } else { 1 });
        Ok(term::and([there, term::le(&least, &size)]))
    }

    /// The indices of a class's members that they are told apart by, in a copy with a number.
    pub(super) fn known_indices(
        &self,
        setting: &mut Setting<'a>,
        class: &Class,
        copy: Option<&Term>,
    ) -> Result<Env, Unsupported> {
        let mut env = Env::new();
        for (var, value) in &class.known {
            let value = match copy {
                Some(copy) if self.copies.indices.contains(var) => copy.clone(),
                _ => setting.terms.expr(value, &Env::new())?,
            };
            env.insert(*var, value);
        }
        Ok(env)
    }

    /// Where the members of a class run: at a written place, at the common one, or each at one of
    /// its own.
    fn part_of(&self, class: &Class, part: Scope) -> Option<Option<&'a Expr>> {
        let role = &self.protocol.roles[class.role];
        let written = match part {
            Scope::Cta => &role.place.cta,
            Scope::Cluster => &role.place.cluster,
            Scope::Gpu | Scope::Sys => &role.place.gpu,
        };
        match written {
            Some(written) => Some(Some(written)),
            None if role.launch.is_some() && part < Scope::Gpu => None,
            None => Some(None),
        }
    }
}
