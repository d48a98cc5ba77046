//! Ranks: they do not decrease along a program, and a wait has a greater rank than the arrival that it is for.
//!
//! ```text
//! a  for i in 0..N { b  c }  d
//! ```
//!
//! A member takes the paths from `a` to `b`, from `b` to `c`, and from `c` around the loop to `b`, or on to `d`. If
//! the loop has no iteration, it goes from `a` to `d`. A path across the end of an iteration adds the weight of the
//! loop. So `d` may have a lower number than `c`, if the weight makes up for it.
//!
//! The path from `a` to `d` past the loop is taken only if the loop has no iteration. If its bound is over
//! parameters, the path may assume `N <= 0`. If the domain excludes this, there is no such path. For a loop inside a
//! branch, nothing is assumed: if the branch is not taken, a member goes past the loop whatever its bound is.
//!
//! Conditions are ignored: a member is taken to execute the operations of both branches, one after the other. Its
//! real operations are a subsequence of these. So if ranks never decrease on any of these paths, they never decrease
//! along the real operations. A path around a loop several times, or around more loops, adds more weights, and no
//! weight is below 0. So only the paths with the fewest ends of iterations have to be checked.

use std::collections::BTreeSet;

use super::artefact::Lag;
use super::artefact::behind;
use super::cases;
use super::cases::Env;
use super::cases::fits;
use super::chains::Step;
use super::chains::Walk;
use super::polynomial::Polynomial;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use super::scene::At;
use super::scene::Scene;
use crate::certificate::cut::flow::Flow;
use crate::certificate::cut::flow::Node;
use crate::certificate::program::Unsupported;

/// A part of a class that has a weight in its ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A loop, by position.
    Loop(usize),
    /// An operation, by position.
    Site(usize),
}

/// A path from one operation to the next one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    from: usize,
    to: usize,
    /// The loops of which an iteration ends on the path.
    around: BTreeSet<usize>,
    /// The loops that have no iteration, so that the path goes past them.
    past: BTreeSet<usize>,
}

/// The paths between consecutive operations of a program.
struct Ways<'f> {
    flow: &'f Flow,
    all: BTreeSet<Way>,
    /// Whether a branch is around the current piece.
    in_branch: bool,
}

/// Where a member may have come from: the last operation, the loops of which an iteration has ended since, and the
/// loops that it has gone past.
type Behind = BTreeSet<(usize, BTreeSet<usize>, BTreeSet<usize>)>;

impl<'f> Ways<'f> {
    fn of(flow: &'f Flow) -> Ways<'f> {
        let mut ways = Ways {
            flow,
            all: BTreeSet::new(),
            in_branch: false,
        };
        ways.through(&flow.nodes, Behind::new());
        ways
    }

    /// Walks a piece of the program.
    fn through(&mut self, nodes: &[Node], mut behind: Behind) -> Behind {
        for node in nodes {
            match node {
                Node::Point(_) => {}
                Node::Site(to) => {
                    let way = |(from, around, past)| Way {
                        from,
                        to: *to,
                        around,
                        past,
                    };
                    self.all.extend(behind.into_iter().map(way));
                    behind = Behind::from([(*to, BTreeSet::new(), BTreeSet::new())]);
                }
                Node::If {
                    then, otherwise, ..
                } => {
                    let outer = std::mem::replace(&mut self.in_branch, true);
                    behind = self.through(then, behind);
                    behind = self.through(otherwise, behind);
                    self.in_branch = outer;
                }
                Node::Loop(at) => {
                    let body = &self.flow.loops[*at].body;
                    let ended = |behind: Behind| {
                        let behind = behind.into_iter();
                        behind.map(|(from, mut around, past)| {
                            around.insert(*at);
                            (from, around, past)
                        })
                    };
                    // The first iteration, and any later one. After two iterations without an operation, the result
                    // does not change any more.
                    let first: Behind = ended(self.through(body, behind.clone())).collect();
                    let mut begins = behind.clone();
                    begins.extend(first.clone());
                    let later = self.through(body, begins);
                    let in_branch = self.in_branch;
                    let goes_past = behind.into_iter().map(|(from, around, mut past)| {
                        if !in_branch {
                            past.insert(*at);
                        }
                        (from, around, past)
                    });
                    let mut after: Behind = goes_past.collect();
                    after.extend(first);
                    after.extend(ended(later));
                    behind = fewest(after);
                }
            }
        }
        behind
    }
}

/// Removes paths that go around more loops, or past more, than another path from the same operation.
fn fewest(behind: Behind) -> Behind {
    let more = |way: &(usize, BTreeSet<usize>, BTreeSet<usize>)| {
        let (from, around, past) = way;
        let mut others = behind.iter();
        others.any(|other| {
            let less = other.1.is_subset(around) && other.2.is_subset(past);
            other.0 == *from && other != way && less
        })
    };
    behind.iter().filter(|way| !more(way)).cloned().collect()
}

/// The facts that these loops have no iteration, if their bounds are over parameters. For other loops there are no
/// facts.
fn gone_past(
    scene: &Scene,
    flow: &Flow,
    past: &BTreeSet<usize>,
) -> Result<Vec<Scene>, Unsupported> {
    let mut all = vec![scene.clone()];
    for at in past {
        let trips = &flow.loops[*at].trips;
        // Inside another loop, it may have another bound each time.
        if cases::value(trips, &Env::new()).is_err() {
            continue;
        }
        let mut next = Vec::new();
        for scene in all {
            for (mut scene, trips) in scene.value(trips, &Env::new())? {
                scene.know(fits(Polynomial::default().plus(-1, &trips))?);
                if scene.possible() {
                    next.push(scene);
                }
            }
        }
        all = next;
    }
    Ok(all)
}

/// Weights, either known or still to be determined.
pub type Weights<'w> = &'w dyn Fn(usize, Part) -> Result<Polynomial, Unsupported>;

impl Rule<'_> {
    /// Ranks do not decrease along programs, and increase from arrivals to the waits that are for them.
    pub fn ranks(&self, weights: Weights<'_>, lags: &[Lag]) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (class, this) in self.classes.iter().enumerate() {
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
                        what,
                        &scene,
                        weight,
                    );
                }
                for way in Ways::of(&this.flow).all {
                    let Way {
                        from,
                        to,
                        around,
                        past,
                    } = way;
                    let mut rise = weights(class, Part::Site(to))?;
                    for at in around {
                        rise = fits(rise.plus(1, &weights(class, Part::Loop(at))?))?;
                    }
                    let rise = fits(rise.plus(-1, &weights(class, Part::Site(from))?))?;
                    let what = format!("ranks in {} do not fall", this.name);
                    for scene in gone_past(&scene, &this.flow, &past)? {
                        push(
                            &mut all,
                            &format!("grows_c{class}_s{to}"),
                            what.clone(),
                            &scene,
                            rise.clone(),
                        );
                    }
                }
            }
        }
        for (ring_at, ring) in self.rings.iter().enumerate() {
            for &(class, site) in &ring.waits {
                let lag = behind(lags, class, ring_at)?;
                let mut awaited = Vec::new();
                for at in self.scene.at(&self.classes[class], site)? {
                    awaited.extend(self.awaited(ring, &at, class, lag)?);
                }
                for &(by, arrival) in &ring.arrivals {
                    let name = format!("rank_c{class}_s{site}_by_c{by}_s{arrival}");
                    let what = format!(
                        "{} has a greater rank than the arrival that it is for, {}",
                        self.words(class, site),
                        self.words(by, arrival)
                    );
                    for (at, number) in &awaited {
                        let mut walk = Walk::new(self, name.clone(), what.clone(), Vec::new());
                        let step = Step {
                            scene: at.scene.clone(),
                            arrival: number.clone(),
                            target: number.clone(),
                        };
                        walk.arrive_at(step, ring, by, arrival)?;
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
