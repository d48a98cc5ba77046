//! Ranks: they do not fall along a program, and are greater for a wait than for what it is for.

use super::artefact::Lag;
use super::artefact::behind;
use super::cases::fits;
use super::chains::Step;
use super::chains::Walk;
use super::polynomial::Polynomial;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use super::scene::At;
use crate::certificate::program::Unsupported;

/// A part of a class that has a weight in its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A loop, by position.
    Loop(usize),
    /// An operation, by position.
    Site(usize),
}

/// Weights, known or looked for.
pub type Weights<'w> = &'w dyn Fn(usize, Part) -> Result<Polynomial, Unsupported>;

impl Rule<'_> {
    /// Ranks grow along programs, and from arrivals to the waits that are for them.
    pub fn ranks(&self, weights: Weights<'_>, lags: &[Lag]) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
            let sites = &this.flow.sites;
            for scene in self.scene.inhabited(this)? {
                for at in 0..this.flow.loops.len() {
                    let weight = weights(class, Part::Loop(at))?;
                    let what = format!(
                        "ranks in {} do not fall from one iteration to the next",
                        this.name
                    );
                    push(
                        &mut all,
                        &format!("grows_c{class}_loop{at}"),
                        what.clone(),
                        &scene,
                        weight.clone(),
                    );
                    let mut inside =
                        (0..sites.len()).filter(|site| sites[*site].path.loops.contains(&at));
                    let Some(first) = inside.next() else { continue };
                    let last = inside.next_back().unwrap_or(first);
                    let (first, last) = (
                        weights(class, Part::Site(first))?,
                        weights(class, Part::Site(last))?,
                    );
                    let rise = fits(fits(first.plus(1, &weight))?.plus(-1, &last))?;
                    push(
                        &mut all,
                        &format!("again_c{class}_loop{at}"),
                        what,
                        &scene,
                        rise,
                    );
                }
                for (before, site) in (0..sites.len()).zip(1..sites.len()) {
                    let rise = weights(class, Part::Site(site))?;
                    let rise = fits(rise.plus(-1, &weights(class, Part::Site(before))?))?;
                    let what = format!("ranks in {} do not fall", this.name);
                    push(
                        &mut all,
                        &format!("grows_c{class}_s{site}"),
                        what,
                        &scene,
                        rise,
                    );
                }
            }
        }
        for (lane_at, lane) in self.lanes.iter().enumerate() {
            for &(class, site) in &lane.waits {
                let lag = behind(lags, class, lane_at)?;
                for &(by, arrival) in &lane.arrivals {
                    let name = format!("rank_c{class}_s{site}_by_c{by}_s{arrival}");
                    let what = format!(
                        "{} has a greater rank than the arrival that it is for, {}",
                        self.words(class, site),
                        self.words(by, arrival)
                    );
                    for at in self.scene.at(&self.classes[class], site)? {
                        for (at, number) in self.awaited(lane, &at, class, lag)? {
                            let mut walk = Walk::new(self, name.clone(), what.clone(), Vec::new());
                            let step = Step {
                                scene: at.scene.clone(),
                                arrival: number.clone(),
                                target: number,
                            };
                            walk.arrive_at(step, lane, by, arrival)?;
                            for (place, _, _) in std::mem::take(&mut walk.places) {
                                let own = At {
                                    scene: place.scene.clone(),
                                    ..at.clone()
                                };
                                for (own, high) in self.rank(class, &own, weights)? {
                                    let place = At {
                                        scene: own.scene.clone(),
                                        ..place.clone()
                                    };
                                    let by = self.member(by);
                                    for (place, low) in self.rank(by, &place, weights)? {
                                        let rise = fits(high.plus(-1, &low))?;
                                        let rise = fits(rise.less(1))?;
                                        push(&mut all, &name, what.clone(), &place.scene, rise);
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// The rank of an operation, by cases.
    fn rank<'c>(
        &self,
        class: usize,
        at: &At<'c>,
        weights: Weights<'_>,
    ) -> Result<Vec<(At<'c>, Polynomial)>, Unsupported> {
        let mut all = vec![(at.clone(), weights(class, Part::Site(at.site))?)];
        for nth in 0..at.class.flow.loops.len() {
            let weight = weights(class, Part::Loop(nth))?;
            let mut next = Vec::new();
            for (at, rank) in all {
                for (at, clock) in at.clock(nth)? {
                    let more = fits(weight.times(&clock))?;
                    next.push((at, fits(rank.plus(1, &more))?));
                }
            }
            all = next;
        }
        Ok(all)
    }
}
