//! Chains: a member knows that another member has passed a wait. Each link of a chain is a wait for an arrival, and
//! the member that arrives has passed another wait before.

use super::artefact::About;
use super::artefact::Lag;
use super::artefact::Link;
use super::artefact::behind;
use super::cases::Env;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::rings::Ring;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use super::scene;
use super::scene::At;
use super::scene::Scene;
use crate::certificate::cut::flow::Kind;
use crate::certificate::program::Unsupported;

impl Rule<'_> {
    /// Everything that has to be shown by a chain.
    pub fn ordered(&self) -> Result<Vec<About>, Unsupported> {
        let mut all = self.ordered_apart()?;
        for ring in &self.rings {
            let uses = ring.uses.iter();
            all.extend(uses.map(|(class, site)| About::Initialised(*class, *site)));
            for &(class, site) in &ring.waits {
                if matches!(self.site(class, site).kind, Kind::WaitParity { .. }) {
                    all.push(About::NotBehind(class, site));
                    // If no class arrives, no generation completes.
                    if !ring.arrivals.is_empty() {
                        all.push(About::NotLapped(class, site));
                    }
                }
            }
            let arrivals = ring.arrivals.iter();
            all.extend(arrivals.map(|(class, site)| About::InTurn(*class, *site)));
        }
        all.extend(self.handing());
        Ok(all)
    }

    /// The ring of an operation.
    fn ring_of(&self, class: usize, site: usize) -> Result<usize, Unsupported> {
        let at = (class, site);
        let mut rings = self.rings.iter();
        rings
            .position(|ring| {
                let all = [&ring.arrivals, &ring.waits, &ring.uses];
                all.iter().any(|of| of.contains(&at))
            })
            .ok_or_else(|| Unsupported::whole("an operation at no lane"))
    }

    /// The beginning of a chain: the class at the end of what has to be shown.
    pub fn begins(&self, about: About) -> Result<(usize, usize), Unsupported> {
        let (class, site) = about.place();
        let there = self.classes.get(self.member(class));
        let there = there.and_then(|class| class.flow.sites.get(site));
        match there {
            Some(_) => Ok((class, self.ring_of(class, site)?)),
            None => Err(Unsupported::whole("an operation that does not exist")),
        }
    }

    /// The obligations for the links of a chain, whatever the chain shows in the end. They have to hold for every
    /// prefix of the chain, too. So a search need not continue after a link for which they fail.
    pub fn linked(
        &self,
        about: About,
        links: &[Link],
        lags: &[Lag],
    ) -> Result<Vec<Claim>, Unsupported> {
        Ok(self.walked(about, links, lags)?.claims)
    }

    /// Follows the links of a chain.
    fn walked(
        &self,
        about: About,
        links: &[Link],
        lags: &[Lag],
    ) -> Result<Walk<'_, '_>, Unsupported> {
        let (class, ring_at) = self.begins(about)?;
        let ring = &self.rings[ring_at];
        let this = self.class(class);
        let (mut walk, links) = match about {
            About::NotBehind(_, site) => {
                let name = format!("not_behind_c{class}_s{site}");
                let what = format!(
                    "before {}, the previous generation has completed",
                    self.words(class, site)
                );
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, number) in
                        self.awaited(ring, &at, class, behind(lags, class, ring_at)?)?
                    {
                        start.extend(self.previous(ring, at, class, &number)?);
                    }
                }
                (Walk::new(self, name, what, start), links)
            }
            About::InTurn(_, site) => {
                let name = format!("in_turn_c{class}_s{site}");
                let what = format!(
                    "before {}, the generation before its own has completed",
                    self.words(class, site)
                );
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, number) in self.next(ring, class, &at)? {
                        start.extend(self.previous(ring, at, class, &number)?);
                    }
                }
                (Walk::new(self, name, what, start), links)
            }
            About::NotLapped(_, site) => {
                let name = format!("not_lapped_c{class}_s{site}");
                let what = format!(
                    "the generation after that of {} needs an arrival that comes later",
                    self.words(class, site)
                );
                let Some((first, rest)) = links.split_first() else {
                    return Err(Unsupported::whole("a chain that begins nowhere"));
                };
                if first.ring != ring_at {
                    return Err(Unsupported::whole("a chain that begins elsewhere"));
                }
                let mut start = Vec::new();
                for at in self.scene.at(this, site)? {
                    for (at, nth) in self.waiting(ring, class, &at)? {
                        for (at, size) in at.value(&ring.size)? {
                            let number = fits(behind(lags, class, ring_at)?.arrival(&nth, &size))?;
                            let number = fits(number.plus(1, &size))?;
                            start.push(Step {
                                scene: at.scene,
                                arrival: number,
                                target: nth.clone(),
                            });
                        }
                    }
                }
                let mut walk = Walk::new(self, name, what, Vec::new());
                for step in start {
                    walk.arrive(step, ring, first.class)?;
                }
                (walk, rest)
            }
            About::Initialised(_, site) => {
                let name = format!("initialised_c{class}_s{site}");
                let what = format!(
                    "before {}, its mbarrier has been initialised",
                    self.words(class, site)
                );
                let start = self.scene.at(this, site)?.into_iter();
                let start = start.map(|at| (at, self.member(class), Polynomial::default()));
                (Walk::new(self, name, what, start.collect()), links)
            }
            About::Apart(_, site, other, by) => {
                let name = format!("apart_c{class}_s{site}_l{other}_by{by}");
                let what = format!(
                    "nobody registers with another count while {} is pending",
                    self.words(class, site)
                );
                let Some(there) = self.rings.get(other) else {
                    return Err(Unsupported::whole("a lane that does not exist"));
                };
                let mut walk = Walk::new(self, name, what, Vec::new());
                for at in self.scene.at(this, site)? {
                    // The number of its wait, and the number of its next registration at the other ring.
                    for (at, target) in at.done(ring.waits_of(class))? {
                        for (at, arrival) in at.done(there.arrivals_of(class))? {
                            let step = Step {
                                scene: at.scene,
                                arrival,
                                target: target.clone(),
                            };
                            walk.arrive(step, there, by)?;
                        }
                    }
                }
                (walk, links)
            }
            About::Handed(_, site, of) => {
                let name = format!("handed_c{class}_s{site}_l{of}");
                let what = format!(
                    "after {}, all earlier turns of its team are over",
                    self.words(class, site)
                );
                let Some((first, rest)) = links.split_first() else {
                    return Err(Unsupported::whole("a chain that begins nowhere"));
                };
                if first.ring != ring_at {
                    return Err(Unsupported::whole("a chain that begins elsewhere"));
                }
                let mut walk = Walk::new(self, name, what, Vec::new());
                let lag = behind(lags, class, ring_at)?;
                for mut at in self.scene.at(this, site)? {
                    // There is no turn before the first one.
                    let target = fits(self.turns_before(of, class, &at)?.less(1))?;
                    at.scene.know(target.clone());
                    for (at, arrival) in self.awaited(ring, &at, class, lag)? {
                        walk.claim(&at.scene, arrival.clone());
                        let step = Step {
                            scene: at.scene,
                            arrival,
                            target: target.clone(),
                        };
                        walk.arrive(step, ring, first.class)?;
                    }
                }
                (walk, rest)
            }
        };
        for link in links {
            let Some(next) = self.rings.get(link.ring) else {
                return Err(Unsupported::whole("a lane that does not exist"));
            };
            for (at, of, target) in std::mem::take(&mut walk.places) {
                if next.waits_of(of).next().is_none() {
                    // Another member of a team may not wait there.
                    walk.claim(&at.scene, Polynomial::number(-1));
                    continue;
                }
                let lag = behind(lags, of, link.ring)?;
                for last in self.last_wait(next, of, &at)? {
                    let (at, nth) = (last.at, last.nth);
                    for claim in last.claims {
                        walk.claim(&at.scene, claim);
                    }
                    walk.claim(&at.scene, nth.clone());
                    for (at, size) in at.value(&next.size)? {
                        let arrival = fits(lag.arrival(&nth, &size))?;
                        walk.claim(&at.scene, arrival.clone());
                        let step = Step {
                            scene: at.scene,
                            arrival,
                            target: target.clone(),
                        };
                        walk.arrive(step, next, link.class)?;
                    }
                }
            }
        }
        Ok(walk)
    }

    /// The obligations that a chain shows what it is about. `lags` says how far the waits of a class at a ring are
    /// behind the arrivals.
    pub fn chain(
        &self,
        about: About,
        (links, made): (&[Link], bool),
        lags: &[Lag],
    ) -> Result<Vec<Claim>, Unsupported> {
        let (class, ring_at) = self.begins(about)?;
        let ring = &self.rings[ring_at];
        let mut walk = self.walked(about, links, lags)?;
        if made {
            let last = links.last().filter(|link| {
                let about = matches!(about, About::NotBehind(..) | About::InTurn(..));
                about && link.ring == ring_at && self.at_once(ring, link.class)
            });
            let Some(last) = last else {
                return Err(Unsupported::whole("an arrival that may be in flight"));
            };
            for (at, _, target) in std::mem::take(&mut walk.places) {
                for (at, number) in self.next(ring, last.class, &at)? {
                    walk.claim(&at.scene, fits(number.plus(-1, &target))?);
                }
            }
            return Ok(walk.claims);
        }
        if let About::Initialised(..) = about {
            let by = self.initialising(ring)?;
            let inits: Vec<usize> = ring.inits.iter().map(|(_, site)| *site).collect();
            for (at, of, _) in std::mem::take(&mut walk.places) {
                if of != by {
                    return Err(Unsupported::whole("a chain that ends elsewhere"));
                }
                // Each of them is executed at most once.
                for site in &inits {
                    for (at, done) in at.done(std::iter::once(*site))? {
                        walk.claim(&at.scene, fits(done.less(1))?);
                    }
                }
            }
            return Ok(walk.claims);
        }
        if let About::Handed(_, _, ring) = about {
            for (at, of, target) in std::mem::take(&mut walk.places) {
                for (scene, goals) in self.has_had(ring, of, &at, &target)? {
                    goals.into_iter().for_each(|goal| walk.claim(&scene, goal));
                }
            }
            return Ok(walk.claims);
        }
        for (at, of, target) in std::mem::take(&mut walk.places) {
            // For a wait that must not be lapped, the target is the wait itself, by its number. Otherwise it is an
            // arrival that some member has waited for.
            let number = match about {
                About::NotLapped(..) | About::Apart(..)
                    if of == class || self.in_team(ring, of, class) =>
                {
                    vec![(at, target)]
                }
                About::NotLapped(..) | About::Apart(..) => {
                    return Err(Unsupported::whole("a chain that ends elsewhere"));
                }
                _ if ring.waits_of(of).next().is_none() => {
                    vec![(at, Polynomial::number(-1))]
                }
                _ => {
                    let lag = behind(lags, of, ring_at)?;
                    let mut all = Vec::new();
                    for (at, size) in at.value(&ring.size)? {
                        all.push((at, fits(lag.wait(&target, &size))?));
                    }
                    all
                }
            };
            for (at, nth) in number {
                walk.claim(&at.scene, nth.clone());
                for last in self.last_wait(ring, of, &at)? {
                    for goal in self.has_passed(ring, of, &last, &nth)? {
                        walk.claim(&last.at.scene, goal);
                    }
                    // For a wait of another member, it is not known whether it is the wait in question.
                    if of != class && matches!(about, About::NotLapped(..)) && !last.all {
                        walk.claim(&last.at.scene, Polynomial::number(-1));
                    }
                }
            }
        }
        Ok(walk.claims)
    }

    /// Whether an operation makes this arrival in no iteration, regardless of other facts. This is quick to see, and
    /// at a barrier with many operations most of them make another arrival.
    fn never(
        &self,
        ring: &Ring,
        class: usize,
        site: usize,
        step: &Step,
    ) -> Result<bool, Unsupported> {
        let this = self.class(class);
        let first = Polynomial::number(i128::from(ring.seat(class).0));
        let env = step.scene.iterations(this, site);
        let apart = fits(first.plus(-1, &step.arrival))?;
        for (_, done) in scene::sum(this, site, ring.arrivals_of(class), &env)?.iter() {
            let number = self.number((ring, class, true), this, &env, done)?;
            if !fits(apart.plus(1, &number))?.is_never_0() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether two classes take turns at waiting at a ring.
    fn in_team(&self, ring: &Ring, one: usize, other: usize) -> bool {
        let team = ring.team(one, false);
        team.is_some_and(|(squad, _)| squad.classes.contains(&other))
    }

    /// A place whose target is the arrival one round before a number, if there is such an arrival.
    fn previous<'c>(
        &self,
        ring: &Ring,
        at: At<'c>,
        class: usize,
        number: &Polynomial,
    ) -> Result<Vec<(At<'c>, usize, Polynomial)>, Unsupported> {
        let mut all = Vec::new();
        for (mut at, size) in at.value(&ring.size)? {
            let before = fits(number.plus(-1, &size))?;
            at.scene.know(before.clone());
            all.push((at, self.member(class), before));
        }
        Ok(all)
    }
}

/// An arrival that has been made, and what it has to show.
#[derive(Clone)]
pub(super) struct Step {
    pub scene: Scene,
    /// The number of the arrival.
    pub arrival: Polynomial,
    pub target: Polynomial,
}

/// Goes from arrivals to events that must have happened before them.
pub(super) struct Walk<'r, 'p> {
    rule: &'r Rule<'p>,
    name: String,
    what: String,
    /// The places that members have passed: the place, the class, and the target.
    pub places: Vec<(At<'r>, usize, Polynomial)>,
    claims: Vec<Claim>,
}

impl<'r, 'p> Walk<'r, 'p> {
    pub fn new(
        rule: &'r Rule<'p>,
        name: String,
        what: String,
        places: Vec<(At<'r>, usize, Polynomial)>,
    ) -> Walk<'r, 'p> {
        Walk {
            rule,
            name,
            what,
            places,
            claims: Vec::new(),
        }
    }

    fn claim(&mut self, scene: &Scene, goal: Polynomial) {
        push(&mut self.claims, &self.name, self.what.clone(), scene, goal);
    }

    /// All members of a class have made an arrival with this number; or, for a team, the member of one of its classes
    /// has. It has to be shown that the class has members, and that it has a seat at this number.
    fn arrive(&mut self, step: Step, ring: &Ring, class: usize) -> Result<(), Unsupported> {
        match ring.team(class, true) {
            Some((squad, _)) => {
                for class in &squad.classes {
                    self.arrived(step.clone(), ring, *class)?;
                }
                Ok(())
            }
            None => self.arrived(step, ring, class),
        }
    }

    fn arrived(&mut self, step: Step, ring: &Ring, class: usize) -> Result<(), Unsupported> {
        let Some(this) = self.rule.classes.get(self.rule.member(class)) else {
            return Err(Unsupported::whole("a class that does not exist"));
        };
        if ring.arrivals_of(class).next().is_none() {
            return Err(Unsupported::whole("a class that does not arrive there"));
        }
        for (scene, size) in step.scene.value(&this.size, &Env::new())? {
            self.claim(&scene, fits(size.less(1))?);
        }
        for (scene, seat) in self.rule.taken(ring, class, &step.scene, &step.arrival)? {
            seat.into_iter().for_each(|goal| self.claim(&scene, goal));
        }
        for site in ring.arrivals_of(class) {
            self.arrive_at(step.clone(), ring, class, site)?;
        }
        Ok(())
    }

    /// The same, if the arrival is made by this operation.
    pub fn arrive_at(
        &mut self,
        step: Step,
        ring: &Ring,
        class: usize,
        site: usize,
    ) -> Result<(), Unsupported> {
        if self.rule.never(ring, class, site, &step)? {
            return Ok(());
        }
        for at in step.scene.at(self.rule.class(class), site)? {
            for (mut at, number) in self.rule.next(ring, class, &at)? {
                // This operation makes that arrival in no iteration.
                if fits(number.plus(-1, &step.arrival))?.is_never_0() {
                    continue;
                }
                at.scene.know_equal(&number, &step.arrival)?;
                if !at.scene.possible() {
                    continue;
                }
                let class = self.rule.member(class);
                self.places.push((at, class, step.target.clone()));
            }
        }
        Ok(())
    }
}
