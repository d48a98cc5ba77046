//! Supports: one of the two ways to show condition 4 of the cut rule (*not behind*) for a registration.
//!
//! Condition 4 says: before a registration for generation `g`, generation `g - 1` has completed. Here another member
//! waits for `g - 1`, and this class cannot reach the registration before that wait has passed.
//!
//! The certificate names the wait and its iteration. The cut for that wait holds the waiting member there, and has a
//! stop of this class that comes before the registration. So a member that reaches the registration does so after the
//! wait has passed, that is, after `g - 1` has completed. If the certificate names several supports, one of them has to
//! fit for all values of parameters and iterations.

use super::Held;
use super::Rule;
use crate::certificate::cut::artefact::Support;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::state::Setting;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;

impl<'a> Rule<'a> {
    /// States the obligation that one of these supports fits, for all parameters and iterations.
    pub(super) fn supported(&mut self, supports: &[&Support]) -> Result<(), Unsupported> {
        let classes = self.classes;
        let (class, site) = (supports[0].class, supports[0].site);
        let this = &classes[class];
        let at = &this.flow.sites[site];
        let (mut setting, env) = self.at_operation(class, site)?;
        let generation = self.generation(&mut setting, class, site, &env)?;
        setting.facts.push(term::lt(&term::int(1), &generation));
        let mut ways = Vec::new();
        for support in supports {
            ways.push(self.support(&mut setting, support, &env, &generation)?);
        }
        let waits: Vec<String> = supports
            .iter()
            .map(|s| {
                let by = &classes[s.by];
                let text = self.quote(by.flow.sites[s.wait].span);
                format!("{} has passed `{text}`", by.name)
            })
            .collect();
        let (what, why) = (self.quote(at.span), waits.join(" or "));
        let name = &this.name;
        self.conclude(
            format!("joins_c{class}_s{site}"),
            format!("in {name}, `{what}` comes after {why} of the round before"),
            setting,
            term::or(ways),
        )
    }

    /// The condition that a support fits: its wait is at the same element, in an iteration that exists, and for the
    /// generation before; and a stop of this class comes before the operation.
    fn support(
        &self,
        setting: &mut Setting<'a>,
        support: &Support,
        env: &Env,
        generation: &Term,
    ) -> Result<Term, Unsupported> {
        let (class, site) = (support.class, support.site);
        let this = &self.classes[class];
        let at = &this.flow.sites[site];
        let wrong = || Unsupported::at(at.span, "a support that does not fit");
        let by = self.classes.get(support.by).ok_or_else(wrong)?;
        let wait = by.flow.sites.get(support.wait).ok_or_else(wrong)?;
        if support.by == class || wait.object != at.object || !wait.kind.blocks() {
            return Err(wrong());
        }
        // The member is held before the wait. Its own registration has been done.
        let hold = self.held(support.by, support.wait).ok_or_else(wrong)?;
        let own = Held {
            class,
            place: Place::Site(site),
            env,
        };
        let clock = self.form(setting, &support.clock, own)?;
        let end = setting.clock_end(by, support.wait)?;
        let (held, inside) = setting.iterations(by, &wait.path, "held")?;
        let held_clock = setting.clock(by, support.wait, &held)?;
        // The iteration of the wait exists, so its iteration numbers have values.
        let exists = term::within(&term::int(0), &clock, &end);
        setting.facts.push(term::or([
            term::not(exists.clone()),
            term::and(inside.into_iter().chain([term::eq(&held_clock, &clock)])),
        ]));
        let mut goals = vec![exists];
        goals.extend(setting.conditions(&wait.path, &held)?);
        goals.push(self.exists(setting, support.by)?);
        for (x, y) in at.index.iter().zip(&wait.index) {
            let (x, y) = (setting.terms.expr(x, env)?, setting.terms.expr(y, &held)?);
            goals.push(term::eq(&x, &y));
        }
        let awaited = self.generation(setting, support.by, support.wait, &held)?;
        goals.push(term::eq(&awaited, &term::sub(generation, &term::int(1))));
        // One of this class's stops exists and comes before the operation. The class gets no further than the earliest
        // of its stops.
        let from = Held {
            class: support.by,
            place: Place::Site(support.wait),
            env: &held,
        };
        let stops = self.stops_of(hold, class).ok_or_else(wrong)?;
        goals.push(self.stopped(setting, stops, from, own)?);
        Ok(term::and(goals))
    }
}
