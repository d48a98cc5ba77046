//! Pools: what is taken from a pool can be missing later, so the order of steps matters.
//!
//! Members of a class that uses a pool need not end up at one place. So *progress* takes, for each
//! of its places, any number of members that adds up to the class, and shows that no such choice
//! leaves everybody blocked. Given where these members are, the rest of the protocol is monotone as
//! before, and has one place per class. What is assumed of the choice holds in every state: a pool
//! is never overdrawn, and who is beyond a wait has seen it pass.
//!
//! *Cuts* treat an acquisition as one that never blocks, which only lets members get further.
//!
//! A member gives back no more than it holds, so the pool never has more than its capacity.
//!
//! A pool that has all that is ever taken from it, by everybody and whatever is given back, never keeps
//! anybody waiting. That is an obligation (`plenty`); operations on such a pool are then like any other
//! that blocks nobody.
//!
//! The same goes for a pool that has all that everybody may hold at once (`revolving`): whoever takes from it
//! holds at most so much afterwards, a bound for its class that is the sum of what its acquisitions take, each
//! once, and the pool has these bounds of all members together. Others never hold more than their
//! bounds, so what is asked for is there. It is right for what is taken and given back in every iteration.
//!
//! And so does a pool that may run short, but that everybody holds briefly (`brief`), as in
//! `for t in 0..T { acquire p 256  write acc  release p 256 }`: wherever a member can be kept waiting, and at its end, it
//! holds nothing of the pool, and it asks for no more than the pool has altogether. In a stuck state everybody is at such a
//! place. Then the pool is whole, so nobody is kept waiting by it. It has no indices, so that what a member holds is one number.
//!
//! Refused: an operation on a pool that may run short otherwise, or a wait of a class that uses one, inside a
//! loop.

use super::algebra;
use super::class::Class;
use super::count::Place;
use super::flow::Flow;
use super::flow::Kind;
use super::flow::Site;
use super::polynomial::Polynomial;
use super::rule::Rule;
use super::state;
use super::state::Group;
use super::state::Setting;
use super::state::Spot;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;

/// Refuses an amount that differs between iterations: times how often it was taken says nothing.
fn steady_amount(flow: &Flow, site: &Site, amount: &Expr) -> Result<(), Unsupported> {
    let mut loops = site.path.loops.iter();
    if loops.any(|l| algebra::mentions(amount, flow.loops[*l].var)) {
        let what = "an amount that differs between iterations";
        return Err(Unsupported::at(site.span, what));
    }
    Ok(())
}

/// What a member holds of an element of a pool at a place.
pub(super) fn held(
    this: &Class,
    (pool, index): (ObjectId, &[Expr]),
    place: Place,
) -> Result<Expr, Unsupported> {
    let mut holds = Expr::Int(0);
    for (nth, site) in this.flow.sites.iter().enumerate() {
        let Some((amount, taken)) = site.pooled(pool) else {
            continue;
        };
        steady_amount(&this.flow, site, amount)?;
        let visits = this.flow.visits(nth, index, place);
        let visits = visits.ok_or_else(|| state::uncounted(this, nth))?;
        let all = algebra::mul(amount.clone(), visits);
        holds = if taken {
            algebra::add(holds, all)
        } else {
            algebra::sub(holds, all)
        };
    }
    Ok(holds)
}

impl<'a> Rule<'a> {
    /// Whether members of a class take from or give to a pool that may run short.
    pub fn uses_pools(&self, class: usize) -> bool {
        let pool = |kind: &Kind| matches!(kind, Kind::Acquire { .. } | Kind::Release { .. });
        let lasts = |pool: &usize| self.lasts(*pool) || self.case.brief.contains(pool);
        let short = |s: &Site| pool(&s.kind) && !lasts(&s.object.0);
        self.classes[class].flow.sites.iter().any(short)
    }

    /// Whether a pool has all that is asked for at any time.
    fn lasts(&self, pool: usize) -> bool {
        self.case.plenty.contains(&pool) || self.case.revolving.contains(&pool)
    }

    /// The pools of which that is said are held by nobody who can be kept waiting.
    pub fn brief(&mut self) -> Result<(), Unsupported> {
        for object in self.case.brief.clone() {
            let wrong = || Unsupported::whole("a pool held briefly that is none, or has indices");
            let declared = self.protocol.objects.get(object).ok_or_else(wrong)?;
            let ObjectKind::Pool { capacity, .. } = &declared.kind else {
                return Err(wrong());
            };
            if !declared.extents.is_empty() {
                return Err(wrong());
            }
            let capacity = self.fix(capacity);
            for (class, this) in self.classes.iter().enumerate() {
                for (nth, site) in this.flow.sites.iter().enumerate() {
                    let from = match &site.kind {
                        Kind::Acquire { amount } if site.object.0 == object => Some(amount),
                        _ => None,
                    };
                    let acquires = matches!(site.kind, Kind::Acquire { .. });
                    if !site.kind.blocks() && (!acquires || self.lasts(site.object.0)) {
                        continue;
                    }
                    let place = Place::Site(nth);
                    let (mut setting, env) = self.at_operation(class, nth)?;
                    let holds = held(this, (ObjectId(object), &[]), place)?;
                    let holds = setting.terms.expr(&holds, &env)?;
                    let mut goals = vec![term::eq(&holds, &term::int(0))];
                    if let Some(amount) = from {
                        let amount = setting.terms.expr(amount, &env)?;
                        let all = setting.terms.expr(&capacity, &Env::new())?;
                        goals.push(term::le(&amount, &all));
                    }
                    let what = self.quote(site.span);
                    self.conclude(
                        format!("brief_{}_c{class}_s{nth}", declared.name),
                        format!(
                            "in {}, a member holds nothing of `{}` at `{what}`",
                            this.name, declared.name
                        ),
                        setting,
                        term::and(goals),
                    )?;
                }
                let mut setting = self.setting_of(class)?;
                let holds = held(this, (ObjectId(object), &[]), Place::End)?;
                let holds = setting.terms.expr(&holds, &Env::new())?;
                self.conclude(
                    format!("brief_{}_c{class}_end", declared.name),
                    format!(
                        "in the end, members of {} hold nothing of `{}`",
                        this.name, declared.name
                    ),
                    setting,
                    term::eq(&holds, &term::int(0)),
                )?;
            }
        }
        Ok(())
    }

    /// The pools of which that is said have all that is ever taken from them.
    pub fn plenty(&mut self) -> Result<(), Unsupported> {
        let none = self.case.plenty.is_empty() && self.case.revolving.is_empty();
        if !none && (self.copies.shares || self.ordered.is_some()) {
            // Only the members of one copy would be counted.
            let what = "a pool beside copies that share objects";
            return Err(Unsupported::whole(what));
        }
        for object in &self.case.plenty {
            let wrong = || Unsupported::whole("plenty of something that is no pool");
            let declared = self.protocol.objects.get(*object).ok_or_else(wrong)?;
            let ObjectKind::Pool { capacity, .. } = &declared.kind else {
                return Err(wrong());
            };
            let extents: Vec<Expr> = declared.extents.iter().map(|e| self.fix(e)).collect();
            let mut setting = self.setting()?;
            setting.exact_products = true;
            let element = setting.any_element(ObjectId(*object), &extents)?;
            let none = Polynomial::default();
            let mut parts = vec![(Polynomial::of(&self.fix(capacity)), term::int(1))];
            for class in self.classes {
                for (nth, site) in class.flow.sites.iter().enumerate() {
                    let Kind::Acquire { amount } = &site.kind else {
                        continue;
                    };
                    if site.object.0 != *object {
                        continue;
                    }
                    steady_amount(&class.flow, site, amount)?;
                    let visits = class.flow.visits(nth, &element.index, Place::End);
                    let visits = visits.ok_or_else(|| state::uncounted(class, nth))?;
                    let visits = setting.terms.expr(&visits, &element.env)?;
                    let all = algebra::mul(class.size.clone(), amount.clone());
                    parts.push((none.minus(&Polynomial::of(&all)), visits));
                }
            }
            let left = setting.weighted(parts)?;
            self.conclude(
                format!("plenty_{}", declared.name),
                format!("`{}` has all that is ever taken from it", declared.name),
                setting,
                term::le(&term::int(0), &left),
            )?;
        }
        Ok(())
    }

    /// The pools of which that is said have all that everybody may hold at once.
    pub fn revolving(&mut self) -> Result<(), Unsupported> {
        for object in &self.case.revolving {
            let wrong = || Unsupported::whole("plenty of something that is no pool");
            let declared = self.protocol.objects.get(*object).ok_or_else(wrong)?;
            let ObjectKind::Pool { capacity, .. } = &declared.kind else {
                return Err(wrong());
            };
            let mut setting = self.setting()?;
            setting.exact_products = true;
            let none = Polynomial::default();
            let mut parts = vec![(Polynomial::of(&self.fix(capacity)), term::int(1))];
            let mut goals = Vec::new();
            for (class, this) in self.classes.iter().enumerate() {
                let bound = self.most_held(class, *object)?;
                let all = algebra::mul(this.size.clone(), bound.clone());
                parts.push((none.minus(&Polynomial::of(&all)), term::int(1)));
                let bound = setting.terms.expr(&bound, &Env::new())?;
                goals.push(term::le(&term::int(0), &bound));
            }
            let left = setting.weighted(parts)?;
            goals.push(term::le(&term::int(0), &left));
            self.conclude(
                format!("revolving_{}", declared.name),
                format!(
                    "`{}` has all that everybody may hold at once",
                    declared.name
                ),
                setting,
                term::and(goals),
            )?;
            for class in 0..self.classes.len() {
                for site in 0..self.classes[class].flow.sites.len() {
                    self.within_bound(class, site, *object)?;
                }
            }
        }
        Ok(())
    }

    /// What the acquisitions of a member take from a pool, each once.
    fn most_held(&self, class: usize, object: usize) -> Result<Expr, Unsupported> {
        let flow = &self.classes[class].flow;
        let mut sum = Expr::Int(0);
        for site in flow.sites.iter().filter(|s| s.object.0 == object) {
            let Kind::Acquire { amount } = &site.kind else {
                continue;
            };
            steady_amount(flow, site, amount)?;
            sum = algebra::add(sum, amount.clone());
        }
        Ok(sum)
    }

    /// With what a member takes here it holds no more than the bound of its class.
    fn within_bound(
        &mut self,
        class: usize,
        site: usize,
        object: usize,
    ) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let Kind::Acquire { amount } = &at.kind else {
            return Ok(());
        };
        if at.object.0 != object {
            return Ok(());
        }
        let bound = self.most_held(class, object)?;
        let after = algebra::add(self.holding(class, site)?, amount.clone());
        let (mut setting, env) = self.at_operation(class, site)?;
        let after = setting.terms.expr(&after, &env)?;
        let bound = setting.terms.expr(&bound, &env)?;
        let what = self.quote(at.span);
        self.conclude(
            format!("bound_c{class}_s{site}"),
            format!(
                "in {}, a member holds no more after `{what}` than its acquisitions take once",
                this.name
            ),
            setting,
            term::le(&after, &bound),
        )
    }

    /// A class's members spread over all places at which they can be blocked, and the end. Also
    /// returns whether somebody is not at the end.
    pub fn spread(
        &self,
        setting: &mut Setting<'a>,
        position: usize,
    ) -> Result<(Group<'a>, Term), Unsupported> {
        let class = &self.classes[position];
        let mut spots = Vec::new();
        let mut spread = Vec::new();
        let zero = term::int(0);
        for (at, site) in class.flow.sites.iter().enumerate() {
            let pool = matches!(site.kind, Kind::Acquire { .. } | Kind::Release { .. });
            if !pool && !site.kind.blocks() {
                continue;
            }
            if !site.path.loops.is_empty() {
                return Err(Unsupported::at(
                    site.span,
                    "a class that uses a pool and waits in a loop",
                ));
            }
            if matches!(site.kind, Kind::Release { .. }) {
                continue;
            }
            let members = setting.terms.constant(&format!("members_{position}_{at}"));
            let conditions = setting.conditions(&site.path, &Env::new())?;
            setting.facts.push(term::le(&zero, &members));
            setting
                .facts
                .push(term::or([term::eq(&members, &zero), term::and(conditions)]));
            spots.push(Spot::always(Place::Site(at), Env::new()));
            spread.push(members);
        }
        let done = setting.terms.constant(&format!("members_{position}_end"));
        setting.facts.push(term::le(&zero, &done));
        let open = term::or(spread.iter().map(|members| term::lt(&zero, members)));
        spots.push(Spot::always(Place::End, Env::new()));
        spread.push(done);
        let size = setting.terms.expr(&class.size, &Env::new())?;
        let size = term::ite(&term::le(&zero, &size), &size, &zero);
        setting
            .facts
            .push(term::eq(&term::sum(spread.iter().cloned()), &size));
        let group = Group {
            class,
            size: class.size.clone(),
            spots,
            spread: Some(spread),
            withheld: None,
            copy: None,
        };
        Ok((group, open))
    }

    /// Assumes that members of a class are blocked wherever they are, and have passed what is
    /// before.
    pub fn spread_blocked(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'a>],
        position: usize,
    ) -> Result<(), Unsupported> {
        let class = &self.classes[position];
        let Some(spread) = groups[position].spread.clone() else {
            return Ok(());
        };
        let spots = groups[position].spots.clone();
        let zero = term::int(0);
        for (spot, members) in spots.iter().zip(&spread) {
            let nobody = term::eq(members, &zero);
            let last = match spot.place {
                Place::Site(site) => {
                    let blocked = self.is_blocked(setting, groups, (position, site), spot)?;
                    setting.facts.push(term::or([nobody.clone(), blocked]));
                    site
                }
                Place::Point(at) => class.flow.points[at].after,
                Place::End => class.flow.sites.len(),
            };
            for earlier in 0..last {
                let site = &class.flow.sites[earlier];
                if !site.kind.blocks() {
                    continue;
                }
                let at = (position, earlier);
                let lacking = self.lacks(setting, groups, at, &Env::new(), 0, false)?;
                let reached = term::and(setting.conditions(&site.path, &Env::new())?);
                setting.facts.push(term::or([
                    nobody.clone(),
                    term::not(reached),
                    term::not(lacking),
                ]));
            }
        }
        Ok(())
    }

    fn is_blocked(
        &self,
        setting: &mut Setting<'a>,
        groups: &[Group<'a>],
        (class, site): (usize, usize),
        spot: &Spot,
    ) -> Result<Term, Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let Kind::Acquire { amount } = &at.kind else {
            return self.lacks(setting, groups, (class, site), &spot.env, 0, false);
        };
        let ObjectKind::Pool { capacity, .. } = &self.protocol.objects[at.object.0].kind else {
            return Err(Unsupported::at(at.span, "an acquisition from no pool"));
        };
        let capacity = self.fix(capacity);
        let element = setting.element(this, site, &spot.env)?;
        let available = setting.available(groups, &element, &capacity)?;
        setting.facts.push(term::le(&term::int(0), &available));
        let amount = setting.terms.expr(amount, &spot.env)?;
        Ok(term::lt(&available, &amount))
    }

    /// What a member holds, before an operation, of the element that this works on.
    fn holding(&self, class: usize, site: usize) -> Result<Expr, Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        held(this, (at.object, &at.index), Place::Site(site))
    }

    /// A member holds what it gives back.
    pub fn held_before_release(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let Kind::Release { amount } = &at.kind else {
            return Ok(());
        };
        let holds = self.holding(class, site)?;
        let (mut setting, env) = self.at_operation(class, site)?;
        let holds = setting.terms.expr(&holds, &env)?;
        let amount = setting.terms.expr(amount, &env)?;
        let what = self.quote(at.span);
        self.conclude(
            format!("holds_c{class}_s{site}"),
            format!("in {}, a member holds what `{what}` gives back", this.name),
            setting,
            term::le(&amount, &holds),
        )
    }
}
