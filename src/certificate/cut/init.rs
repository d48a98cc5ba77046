//! Explicit initialisation: each mbarrier is initialised once, before all of its uses.
//!
//! The cut rule treats an mbarrier with `init: explicit` as one that is initialised from the
//! beginning, if
//!
//! 1. *(once)* every element that is used or initialised is initialised exactly once: by a class
//!    with one member, and by one of the operations of that member;
//! 2. *(own order)* if the initialising member uses the element itself, it does so after it has
//!    initialised it;
//! 3. *(held back)* while the initialising member is held before the initialisation, all other
//!    classes stop before they come to a use of the element. This is a cut like any other.
//!
//! *Why.* Suppose that a run comes to a use of an element that is not initialised. Take the first
//! such use. Before it, initialisations have made no difference, so up to there it is also a run of
//! the protocol in which all mbarriers are initialised from the beginning. By 1 one member
//! initialises the element, and it has not got beyond its initialisation. If this member is the
//! user, that contradicts 2. Otherwise the cut of 3 says that the user has not got so far.
//!
//! So no run comes to such a use, and `uninitialized` is not violated. No use comes before the only
//! initialisation of its element. So the initialisation discards nothing, and it leaves the mbarrier
//! as the declaration would.

use super::class::Class;
use super::count::Place;
use super::flow::Kind;
use super::flow::Site;
use super::rule::Held;
use super::rule::Rule;
use super::state;
use super::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::ObjectKind;

impl<'a> Rule<'a> {
    /// Whether an operation works on an mbarrier that has to be initialised.
    pub fn has_to_be_initialised(&self, class: usize, site: usize) -> bool {
        let object = self.classes[class].flow.sites[site].object;
        let kind = &self.protocol.objects[object.0].kind;
        let explicit = |kind: &ObjectKind| {
            matches!(
                kind,
                ObjectKind::Mbarrier {
                    explicit_init: true,
                    ..
                }
            )
        };
        explicit(kind)
    }

    /// That the element that an operation uses is initialised once.
    pub fn initialised_once(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let classes = self.classes;
        let this = &classes[class];
        let at = &this.flow.sites[site];
        let (mut setting, env) = self.at_operation(class, site)?;
        let mut total = Vec::new();
        let mut goals = Vec::new();
        let (zero, one) = (term::int(0), term::int(1));
        for other in classes {
            let own = self.initialisations(&mut setting, (class, site), &env, other, Place::End)?;
            if own == zero {
                continue;
            }
            let size = setting.terms.expr(&other.size, &Env::new())?;
            let somebody = term::le(&one, &size);
            goals.push(term::or([term::eq(&own, &zero), term::le(&size, &one)]));
            total.push(term::ite(&somebody, &own, &zero));
        }
        goals.push(term::eq(&term::sum(total), &one));
        let what = self.quote(at.span);
        self.conclude(
            format!("initialised_c{class}_s{site}"),
            format!("the barrier of `{what}` is initialised exactly once"),
            setting,
            term::and(goals),
        )
    }

    /// That nobody comes to a use of an mbarrier before it is initialised.
    pub fn initialised_before(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        self.initialised_once(class, site)?;
        self.initialised_by_itself(class, site)?;
        for other in (0..self.classes.len()).filter(|other| *other != class) {
            for init in 0..self.classes[other].flow.sites.len() {
                let at = &self.classes[class].flow.sites[site];
                if initialises(&self.classes[other].flow.sites[init], at) {
                    self.held_back(class, site, (other, init))?;
                }
            }
        }
        Ok(())
    }

    /// How often a member of a class has initialised the element of an operation when it is at
    /// a place.
    fn initialisations(
        &self,
        setting: &mut Setting<'a>,
        (class, site): (usize, usize),
        env: &Env,
        by: &Class,
        place: Place,
    ) -> Result<Term, Unsupported> {
        let element = setting.element(&self.classes[class], site, env)?;
        let mut values = env.clone();
        values.extend(element.env.iter().map(|(v, t)| (*v, t.clone())));
        let at = &self.classes[class].flow.sites[site];
        let mut sum = Vec::new();
        for (nth, other) in by.flow.sites.iter().enumerate() {
            if initialises(other, at) {
                let visits = by.flow.visits(nth, &element.index, place);
                let visits = visits.ok_or_else(|| state::uncounted(by, nth))?;
                sum.push(setting.terms.expr(&visits, &values)?);
            }
        }
        Ok(term::sum(sum))
    }

    /// That a member that initialises what it uses does so first.
    fn initialised_by_itself(&mut self, class: usize, site: usize) -> Result<(), Unsupported> {
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        if !this.flow.sites.iter().any(|s| initialises(s, at)) {
            return Ok(());
        }
        let (mut setting, env) = self.at_operation(class, site)?;
        let place = (class, site);
        let so_far = self.initialisations(&mut setting, place, &env, this, Place::Site(site))?;
        let ever = self.initialisations(&mut setting, place, &env, this, Place::End)?;
        let what = self.quote(at.span);
        self.conclude(
            format!("initialises_c{class}_s{site}"),
            format!("in {}, `{what}` comes after the initialisation", this.name),
            setting,
            term::le(&ever, &so_far),
        )
    }

    /// That nobody of another class comes to this use while a member is held before an initialisation.
    fn held_back(
        &mut self,
        class: usize,
        site: usize,
        (by, init): (usize, usize),
    ) -> Result<(), Unsupported> {
        let classes = self.classes;
        let (this, other) = (&classes[class], &classes[by]);
        let (at, first) = (&this.flow.sites[site], &other.flow.sites[init]);
        let hold = self.held(by, init).ok_or_else(|| {
            Unsupported::at(
                first.span,
                "an initialisation for which the certificate has no cut",
            )
        })?;
        let mut setting = self.setting_of(class)?;
        let size = setting.terms.expr(&other.size, &Env::new())?;
        setting.facts.push(term::le(&term::int(1), &size));
        let env = setting.member_at(this, site, "at")?;
        let held = setting.member_at(other, init, "held")?;
        for (x, y) in at.index.iter().zip(&first.index) {
            let (x, y) = (setting.terms.expr(x, &env)?, setting.terms.expr(y, &held)?);
            setting.facts.push(term::eq(&x, &y));
        }
        let from = Held {
            class: by,
            place: Place::Site(init),
            env: &held,
        };
        let to = Held {
            class,
            place: Place::Site(site),
            env: &env,
        };
        // There are as many lists of stops as classes: `held` has checked it.
        let stopped = self.stopped(&mut setting, &hold.stops[class], from, to)?;
        let (what, waits) = (self.quote(at.span), self.quote(first.span));
        self.conclude(
            format!("after_init_c{class}_s{site}_c{by}_s{init}"),
            format!(
                "in {}, `{what}` comes after {} has passed `{waits}`",
                this.name, other.name
            ),
            setting,
            stopped,
        )
    }
}

/// Whether an operation may initialise what another one works on.
fn initialises(site: &Site, used: &Site) -> bool {
    matches!(site.kind, Kind::Init) && site.may_meet(used)
}
