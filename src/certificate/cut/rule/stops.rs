//! Stops: the places that the members of a class cannot get beyond while a member of some class is held.
//!
//! A stop is a blocking operation in one iteration. The number of this iteration is a form over the place of the held
//! member, such as `i - 1`. The certificate lists stops for each class. A stop does not exist if its loop has no such
//! iteration, or if a condition skips the operation in it. A class is at the earliest of its stops that exist. If none
//! exists, it is at its end.

use super::Held;
use super::Rule;
use crate::certificate::cut::artefact::Stop;
use crate::certificate::cut::count::Counted;
use crate::certificate::cut::count::Place;
use crate::certificate::cut::state;
use crate::certificate::cut::state::Setting;
use crate::certificate::cut::state::Spot;
use crate::certificate::ground;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;

/// Replaces a condition by true or false if it is on constants only. That makes formulas smaller, since the condition
/// occurs wherever arrivals are counted.
fn decided(condition: Term) -> Term {
    ground::truth(&condition).map_or(condition, term::boolean)
}

impl<'a> Rule<'a> {
    /// The spots of a class: each stop, under the condition that it is the earliest one that exists. Then the end of
    /// the program, under the condition that none exists.
    pub fn stops(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        stops: &[Stop],
        from: Held<'_>,
    ) -> Result<Vec<Spot>, Unsupported> {
        let mut found: Vec<Spot> = Vec::new();
        let mut numbers = Vec::new();
        for stop in stops {
            found.push(self.stop(setting, class, stop, from)?);
            numbers.push(self.form(setting, &stop.clock, from)?);
        }
        let mut spots = Vec::new();
        for (nth, spot) in found.iter().enumerate() {
            let mut when = vec![spot.when.clone()];
            for (other, stop) in stops.iter().enumerate().filter(|(other, _)| *other != nth) {
                let place = Held {
                    class,
                    place: spot.place,
                    env: &spot.env,
                };
                let later = self.beyond(setting, place, stop.site, &numbers[other])?;
                when.push(term::not(term::and([found[other].when.clone(), later])));
            }
            spots.push(Spot {
                when: term::and(when),
                ..spot.clone()
            });
        }
        spots.push(Spot {
            when: term::and(spots.iter().map(|s| term::not(s.when.clone()))),
            place: Place::End,
            env: Env::new(),
        });
        Ok(spots)
    }

    pub(super) fn stop(
        &self,
        setting: &mut Setting<'a>,
        class: usize,
        stop: &Stop,
        from: Held<'_>,
    ) -> Result<Spot, Unsupported> {
        let site = stop.site;
        let this = self.class(class);
        let at = this
            .flow
            .sites
            .get(site)
            .filter(|s| s.kind.blocks())
            .ok_or_else(|| Unsupported::whole("a stop at an operation that does not block"))?;
        let clock = self.form(setting, &stop.clock, from)?;
        let total = setting.clock_end(this, site)?;
        let (env, inside) = setting.iterations(this, &at.path, "stop")?;
        let own = setting.clock(this, site, &env)?;
        let conditions = setting.conditions(&at.path, &env)?;
        // Every iteration number below the total belongs to exactly one choice of the loops'
        // variables, so they may be named without assuming anything.
        setting.facts.push(term::or([
            term::not(term::within(&term::int(0), &clock, &total)),
            term::and(inside.into_iter().chain([term::eq(&own, &clock)])),
        ]));
        let exists = decided(term::within(&term::int(0), &clock, &total));
        let there = term::and([exists].into_iter().chain(conditions));
        Ok(Spot {
            when: there,
            place: Place::Site(site),
            env,
        })
    }

    /// That a place comes after one of its class's stops while a member is held elsewhere.
    pub fn stopped(
        &self,
        setting: &mut Setting<'a>,
        stops: &[Stop],
        from: Held<'_>,
        at: Held<'_>,
    ) -> Result<Term, Unsupported> {
        let mut ways = Vec::new();
        for stop in stops {
            let spot = self.stop(setting, at.class, stop, from)?;
            let reached = self.form(setting, &stop.clock, from)?;
            let beyond = self.beyond(setting, at, stop.site, &reached)?;
            ways.push(term::and([spot.when, beyond]));
        }
        Ok(term::or(ways))
    }

    /// Whether a place comes after a stop in a given iteration. The stop has to exist in it: the loop
    /// has such an iteration, and no condition skips the stop in it.
    ///
    /// Inside loops, an iteration that the member has completed contained the stop. Outside loops,
    /// the iteration can only be number 0, and `done` is how often the member has executed the stop
    /// by then, conditions included: 1 if the stop is on its way to the place, and 0 if it comes
    /// later, is skipped or stands in the other branch. So nothing has to be known about conditions.
    pub fn beyond(
        &self,
        setting: &mut Setting<'a>,
        at: Held<'_>,
        stop: usize,
        iteration: &Term,
    ) -> Result<Term, Unsupported> {
        let this = self.class(at.class);
        let clock = this.flow.clock(stop);
        let done = this
            .flow
            .before(at.place, clock)
            .ok_or_else(|| state::uncounted(this, stop))?;
        let done = setting.terms.expr(&done, at.env)?;
        let Counted::Iteration(level) = clock else {
            return Ok(decided(term::lt(iteration, &done)));
        };
        let path = this.flow.path(at.place);
        let inside = path.is_some_and(|path| path.loops.contains(&level));
        let same = inside && this.flow.comes_after(at.place, stop);
        Ok(decided(if same {
            term::le(iteration, &done)
        } else {
            term::lt(iteration, &done)
        }))
    }
}
