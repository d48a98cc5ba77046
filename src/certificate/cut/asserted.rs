//! Assertions and invariants: claims about states.
//!
//! # The conditions
//!
//! 1. *(assertion)* for a member at an `assert`, in any iterations: whatever its condition evaluates has
//!    a value, the elements it is about exist, and it holds for all values that these can have in
//!    such a state (`values.rs`, with a cut for the point and floors);
//! 2. *(initially)* every invariant holds of the values at the start;
//! 3. *(preserved)* for every operation that may change an element that an invariant is about: if
//!    all invariants hold before, it holds after, given what is known of the values while a member
//!    stands before the operation.
//!
//! # Why they hold in every state
//!
//! A run of the protocol is a run of the unwrapped one, in which nothing undefined happens (the
//! rule's point (b)), so what `values.rs` says holds in it. An assertion is claimed of states in which
//! its member has done the operations before it and none after: these are states in which it is held at
//! the point. An invariant holds at the start and is kept by every step: nothing but operations on the
//! elements it is about, and what they put in flight, changes their values.
//!
//! *What a step changes.* An addition adds its amount to its element. An arrival, a registration, an
//! expectation and a delivery complete one generation of theirs or none. What lands later
//! does so in some state in which its member has come to the operation: what grows is then still at
//! least what it was.
//!
//! # Side conditions
//!
//! Refused: an assertion about what another copy than the member's has for itself, an invariant about what
//! several copies have, or about that and shared objects, and invariants about a semaphore that is reset. An
//! invariant about what each copy has for itself is kept by the steps of other copies.

use std::collections::BTreeSet;

use super::artefact::Floor;
use super::artefact::Moment;
use super::class::Class;
use super::count::Place;
use super::flow;
use super::flow::Kind;
use super::flow::Step;
use super::rule::Held;
use super::rule::Rule;
use super::state::Setting;
use super::state::Tag;
use super::values::Valued;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::Initial;
use crate::protocol::Invariant;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::VarId;

/// The name that stands for the number of a copy in a claim, and a class of members of that copy.
type Owner<'c> = (Option<VarId>, &'c Class);

/// Whether an operation may change the value of an object.
pub fn changes(site: &flow::Site, object: ObjectId) -> bool {
    let waits = matches!(
        site.kind,
        Kind::Await | Kind::WaitParity { .. } | Kind::WaitValue { .. } | Kind::Init
    );
    site.object == object && !waits
}

/// The objects that an invariant is about.
pub fn objects(invariant: &Invariant) -> BTreeSet<ObjectId> {
    let values = invariant.claim.values.iter();
    values.map(|(_, cell)| cell.object).collect()
}

impl<'a> Rule<'a> {
    /// Every assertion and every invariant holds.
    pub fn asserted(&mut self) -> Result<(), Unsupported> {
        for nth in 0..self.case.exposures.len() {
            self.exposure(nth)?;
        }
        let mut held = BTreeSet::new();
        for floor in &self.case.floors {
            let site = self
                .classes
                .get(floor.by)
                .map(|c| floor.site < c.flow.sites.len());
            if site != Some(true) {
                return Err(Unsupported::whole("a floor that does not fit"));
            }
            held.insert((floor.by, floor.site));
        }
        for class in 0..self.classes.len() {
            for point in 0..self.classes[class].flow.points.len() {
                if matches!(
                    self.classes[class].flow.points[point].step,
                    Step::Assert { .. }
                ) {
                    self.assertion(class, point)?;
                }
            }
        }
        for nth in 0..self.protocol.invariants.len() {
            // A reset may be no operation of any class. Then nothing would see it.
            let about = objects(&self.protocol.invariants[nth]);
            if let Some(set) = about.into_iter().find(|o| self.is_set(*o)) {
                return Err(Unsupported::at(
                    self.protocol.objects[set.0].span,
                    "an invariant about a semaphore that is reset",
                ));
            }
            self.initially(nth)?;
            for class in 0..self.classes.len() {
                for site in 0..self.classes[class].flow.sites.len() {
                    self.preserved(nth, (class, site), &mut held)?;
                }
            }
        }
        for (class, site) in held {
            self.hold(class, site, None)?;
        }
        Ok(())
    }

    fn assertion(&mut self, class: usize, point: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.points[point];
        let Step::Assert { condition, values } = &at.step else {
            return Ok(());
        };
        let mut setting = self.setting_of(class)?;
        setting.exact_products = true;
        let mut env = self.member_at_point(&mut setting, class, point, "at")?;
        let mut goals = Vec::new();
        let mut all = Vec::new();
        for value in values {
            let place = (value.object, &value.index[..], &value.whole[..]);
            let number = this.number.as_ref().map(|(var, _)| *var);
            let of = (number, this);
            all.push(self.valued(&mut setting, place, (&env, Some(of)), &mut goals)?);
        }
        let here = env.clone();
        let here = Held {
            class,
            place: Place::Point(point),
            env: &here,
        };
        let floors = self.case.floors.iter();
        let floors: Vec<&Floor> = floors
            .filter(|f| f.class == class && f.point == point)
            .collect();
        for valued in &all {
            self.known_everywhere(&mut setting, valued)?;
            self.known_by_itself(&mut setting, valued, here)?;
            if let Some(exposure) = self.exposed_until(class, Moment::Point(point)) {
                let stops = (&exposure.stops[..], &exposure.elsewhere[..]);
                self.known_by_cut(&mut setting, valued, here, stops)?;
            }
            self.known_by_floors(&mut setting, valued, here, &floors)?;
        }
        agree(&mut setting, &all, |valued| &valued.value)?;
        for (value, valued) in values.iter().zip(&all) {
            env.insert(value.var, valued.value.clone());
        }
        goals.push(self.holds(&mut setting, condition, &env, values.is_empty())?);
        let what = self.quote(at.span);
        self.conclude(
            format!("asserted_c{class}_p{point}"),
            format!("in {}, `{what}` holds", this.name),
            setting,
            term::and(goals),
        )
    }

    /// The value of an element, which has to exist.
    fn valued(
        &self,
        setting: &mut Setting<'a>,
        (object, index, whole): (ObjectId, &[Expr], &[Expr]),
        (env, of): (&Env, Option<Owner<'_>>),
        goals: &mut Vec<Term>,
    ) -> Result<Valued, Unsupported> {
        let mut needed = Vec::new();
        for e in whole {
            setting.terms.well_defined(e, env, &[], &mut needed)?;
        }
        goals.push(super::rule::all_needed(needed));
        for (extent, e) in self.protocol.objects[object.0].extents.iter().zip(index) {
            let extent = self.value(setting, extent)?;
            let index = setting.terms.expr(e, env)?;
            goals.push(term::within(&term::int(0), &index, &extent));
        }
        let own;
        let (index, copy) = match of {
            Some(of) => {
                own = self.of_own_copy(object, index, of)?;
                (&own[..], Some(Tag::Marked))
            }
            None => (index, None),
        };
        Ok(Valued {
            element: setting.element_at(object, index, env, copy)?,
            value: setting.unknown("value"),
        })
    }

    /// The index of an element of an object that each copy has for itself, as operations of a class
    /// have it. Nothing is known of the objects of other copies.
    fn of_own_copy(
        &self,
        object: ObjectId,
        index: &[Expr],
        (number, class): Owner<'_>,
    ) -> Result<Vec<Expr>, Unsupported> {
        let mut index = index.to_vec();
        let Some(at) = self.copies.objects.get(&object.0) else {
            return Ok(index);
        };
        let own = class
            .number
            .as_ref()
            .and_then(|(var, _)| class.known.get(var));
        match (index.get_mut(*at), number, own) {
            (Some(named), Some(number), Some(own)) if *named == Expr::Var(number) => {
                *named = own.clone();
                Ok(index)
            }
            _ => Err(Unsupported::at(
                self.protocol.objects[object.0].span,
                "a claim about what another copy has for itself",
            )),
        }
    }

    /// The index of an invariant that numbers the copy whose objects it is about, if there is one.
    fn copy_of_invariant(&self, invariant: &Invariant) -> Result<Option<VarId>, Unsupported> {
        let mut found: Option<Option<VarId>> = None;
        for (_, cell) in &invariant.claim.values {
            let at = self.copies.objects.get(&cell.object.0);
            let number = match at.and_then(|at| cell.index.get(*at)) {
                Some(Expr::Var(var)) => Some(*var),
                _ => None,
            };
            let refused = at.is_some() && number.is_none();
            if refused || found.replace(number).is_some_and(|known| known != number) {
                return Err(Unsupported::at(
                    self.protocol.objects[cell.object.0].span,
                    "an invariant about objects of several copies",
                ));
            }
        }
        Ok(found.flatten())
    }

    /// That a condition has a value and holds. What has no value in an operand that is not looked
    /// at does no harm only where nothing is left open when a member comes there.
    fn holds(
        &self,
        setting: &mut Setting<'a>,
        condition: &Expr,
        env: &Env,
        closed: bool,
    ) -> Result<Term, Unsupported> {
        let mut needed = Vec::new();
        setting
            .terms
            .well_defined(condition, env, &[], &mut needed)?;
        let defined = if closed {
            super::rule::all_needed(needed)
        } else {
            term::and(needed.into_iter().map(|r| r.needed))
        };
        let holds = setting.terms.expr(condition, env)?;
        Ok(term::and([defined, holds]))
    }

    /// The indices of an invariant.
    fn invariant_indices(
        &self,
        setting: &mut Setting<'a>,
        invariant: &Invariant,
    ) -> Result<Env, Unsupported> {
        let mut env = Env::new();
        for index in &invariant.indices {
            let value = setting.unknown("index");
            let extent = self.value(setting, &index.extent)?;
            let inside = term::within(&term::int(0), &value, &extent);
            setting.facts.push(inside);
            env.insert(index.var, value);
        }
        Ok(env)
    }

    /// The values an invariant is about.
    fn invariant_values(
        &self,
        setting: &mut Setting<'a>,
        invariant: &Invariant,
        (env, of): (&Env, Option<Owner<'_>>),
        goals: &mut Vec<Term>,
    ) -> Result<Vec<Valued>, Unsupported> {
        let mut all = Vec::new();
        for (_, cell) in &invariant.claim.values {
            let index: Vec<Expr> = cell.index.iter().map(|e| self.fix(e)).collect();
            let whole: Vec<Expr> = cell.index.iter().map(|e| self.replaced(e)).collect();
            let place = (cell.object, &index[..], &whole[..]);
            all.push(self.valued(setting, place, (env, of), goals)?);
        }
        Ok(all)
    }

    fn initially(&mut self, nth: usize) -> Result<(), Unsupported> {
        let invariant = &self.protocol.invariants[nth];
        let extents: Vec<Expr> = invariant.indices.iter().map(|i| i.extent.clone()).collect();
        let extents: Vec<Expr> = extents.iter().map(|e| self.replaced(e)).collect();
        let extents: Vec<&Expr> = extents.iter().collect();
        let name = format!("defined_invariant_{nth}");
        let what = "what an invariant ranges over";
        self.require_defined(self.setting()?, &extents, &Env::new(), name, what)?;
        let mut setting = self.setting()?;
        let mut env = self.invariant_indices(&mut setting, invariant)?;
        let mut goals = Vec::new();
        for (var, cell) in &invariant.claim.values {
            let object = &self.protocol.objects[cell.object.0];
            let start = match &object.kind {
                ObjectKind::Semaphore(Initial::Value(start)) => self.fix(start),
                ObjectKind::Pool { capacity, .. } => self.fix(capacity),
                ObjectKind::Semaphore(Initial::Any) => {
                    return Err(Unsupported::at(
                        object.span,
                        "a semaphore with an open initial value",
                    ));
                }
                _ => Expr::Int(0),
            };
            let start = setting.terms.expr(&start, &Env::new())?;
            env.insert(*var, start);
        }
        self.invariant_values(&mut setting, invariant, (&env, None), &mut goals)?;
        let condition = self.replaced(&invariant.claim.condition);
        goals.push(self.holds(&mut setting, &condition, &env, false)?);
        let text = &invariant.claim.text;
        self.conclude(
            format!("initially_{nth}"),
            format!("`{text}` holds at the start"),
            setting,
            term::and(goals),
        )
    }

    /// An operation keeps an invariant. Adds the operation to those whose cut is used.
    fn preserved(
        &mut self,
        nth: usize,
        (class, site): (usize, usize),
        held: &mut BTreeSet<(usize, usize)>,
    ) -> Result<(), Unsupported> {
        let protocol = self.protocol;
        let invariant = &protocol.invariants[nth];
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if !objects(invariant).iter().any(|o| changes(at, *o)) {
            return Ok(());
        }
        if matches!(at.kind, Kind::Own) {
            return Err(Unsupported::at(
                at.span,
                "an invariant about a semaphore that is reset",
            ));
        }
        let mut setting = self.setting_of(class)?;
        setting.exact_products = true;
        let here = setting.member_at(this, site, "at")?;
        let mut env = self.invariant_indices(&mut setting, invariant)?;
        let mut goals = Vec::new();
        // What other copies have for themselves stays as it is.
        let of = (self.copy_of_invariant(invariant)?, this);
        if let (Some(copy), Some((var, _))) = (of.0, &this.number) {
            let number = self.free_indices(&mut setting, this, "member")?;
            setting.facts.push(term::eq(&env[&copy], &number[var]));
        }
        let old = self.invariant_values(&mut setting, invariant, (&env, Some(of)), &mut goals)?;
        let later = matches!(
            at.kind,
            Kind::Deliver { .. } | Kind::Arrive { commit: true, .. }
        );
        let member = Held {
            class,
            place: Place::Site(site),
            env: &here,
        };
        let mut new = Vec::new();
        for valued in &old {
            self.known_everywhere(&mut setting, valued)?;
            let object = &protocol.objects[valued.element.object.0].kind;
            // By the time that something lands, its member may hold less of a pool.
            if !later || !matches!(object, ObjectKind::Pool { .. }) {
                self.known_by_itself(&mut setting, valued, member)?;
            }
            if let Some(hold) = self.held(class, site).filter(|_| !later) {
                held.insert((class, site));
                let stops = (&hold.stops[..], &hold.elsewhere[..]);
                self.known_by_cut(&mut setting, valued, member, stops)?;
            }
            let value = self.changed(&mut setting, valued, member, site)?;
            let after = Valued {
                element: setting.element_at(
                    valued.element.object,
                    &valued.element.index,
                    &valued.element.env,
                    valued.element.copy,
                )?,
                value,
            };
            self.known_everywhere(&mut setting, &after)?;
            new.push(after.value);
        }
        agree(&mut setting, &old, |valued| &valued.value)?;
        // The invariant holds before, and so do those without indices.
        let condition = self.replaced(&invariant.claim.condition);
        for (value, (var, _)) in old.iter().zip(&invariant.claim.values) {
            env.insert(*var, value.value.clone());
        }
        let holds = setting.terms.expr(&condition, &env)?;
        setting.facts.push(holds);
        self.invariants_hold(&mut setting, nth, &old)?;
        for (value, (var, _)) in new.iter().zip(&invariant.claim.values) {
            env.insert(*var, value.clone());
        }
        goals.push(self.holds(&mut setting, &condition, &env, false)?);
        let (what, text) = (self.quote(at.span), &invariant.claim.text);
        self.conclude(
            format!("preserved_{nth}_c{class}_s{site}"),
            format!("`{what}` of {} keeps `{text}`", this.name),
            setting,
            term::and(goals),
        )
    }

    /// The value of an element after an operation.
    fn changed(
        &self,
        setting: &mut Setting<'a>,
        valued: &Valued,
        member: Held<'_>,
        site: usize,
    ) -> Result<Term, Unsupported> {
        let at = &self.classes[member.class].flow.sites[site];
        let old = &valued.value;
        if at.object != valued.element.object {
            return Ok(old.clone());
        }
        let mut same = Vec::new();
        for (x, y) in at.index.iter().zip(&valued.element.index) {
            let (x, y) = (
                setting.terms.expr(x, member.env)?,
                setting.terms.expr(y, &valued.element.env)?,
            );
            same.push(term::eq(&x, &y));
        }
        let semaphore = matches!(
            self.protocol.objects[at.object.0].kind,
            ObjectKind::Semaphore(_)
        );
        let after = match &at.kind {
            Kind::Arrive { weight, .. } if semaphore => {
                let weight = setting.terms.expr(weight, member.env)?;
                term::sum([old.clone(), weight])
            }
            Kind::Acquire { amount } => {
                let amount = setting.terms.expr(amount, member.env)?;
                term::sub(old, &amount)
            }
            Kind::Release { amount } => {
                let amount = setting.terms.expr(amount, member.env)?;
                term::sum([old.clone(), amount])
            }
            _ => {
                let after = setting.unknown("after");
                let one_more = term::sum([old.clone(), term::int(1)]);
                setting.facts.push(term::le(old, &after));
                setting.facts.push(term::le(&after, &one_more));
                after
            }
        };
        Ok(term::ite(&term::and(same), &after, old))
    }

    /// Assumes all invariants without indices, but for one, of a state in which elements have these
    /// values.
    fn invariants_hold(
        &self,
        setting: &mut Setting<'a>,
        except: usize,
        known: &[Valued],
    ) -> Result<(), Unsupported> {
        for (nth, other) in self.protocol.invariants.iter().enumerate() {
            let private = objects(other)
                .iter()
                .any(|o| self.copies.objects.contains_key(&o.0));
            if nth == except || !other.indices.is_empty() || private {
                continue;
            }
            let mut env = Env::new();
            // That its elements exist is an obligation of its own.
            let values = self.invariant_values(setting, other, (&env, None), &mut Vec::new())?;
            for (valued, (var, _)) in values.iter().zip(&other.claim.values) {
                self.known_everywhere(setting, valued)?;
                for same in known {
                    agree_two(setting, valued, same, |valued| &valued.value)?;
                }
                env.insert(*var, valued.value.clone());
            }
            let condition = self.replaced(&other.claim.condition);
            let holds = setting.terms.expr(&condition, &env)?;
            setting.facts.push(holds);
        }
        Ok(())
    }
}

/// Names for the value of one element are equal.
fn agree(
    setting: &mut Setting<'_>,
    all: &[Valued],
    value: fn(&Valued) -> &Term,
) -> Result<(), Unsupported> {
    for (nth, one) in all.iter().enumerate() {
        for other in all.iter().skip(nth).skip(1) {
            agree_two(setting, one, other, value)?;
        }
    }
    Ok(())
}

fn agree_two(
    setting: &mut Setting<'_>,
    one: &Valued,
    other: &Valued,
    value: fn(&Valued) -> &Term,
) -> Result<(), Unsupported> {
    if one.element.object != other.element.object {
        return Ok(());
    }
    let mut same = Vec::new();
    for (x, y) in one.element.index.iter().zip(&other.element.index) {
        let (x, y) = (
            setting.terms.expr(x, &one.element.env)?,
            setting.terms.expr(y, &other.element.env)?,
        );
        same.push(term::eq(&x, &y));
    }
    setting.facts.push(term::or([
        term::not(term::and(same)),
        term::eq(value(one), value(other)),
    ]));
    Ok(())
}
