//! Guesses which members take part in which generations of a named barrier, from runs at small parameters.
//!
//! In a correctly synchronized protocol, every run gives each registration the same number. For other protocols, the
//! checker rejects the guess.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::Search;
use super::uncovered;
use crate::certificate::cut::class::Class;
use crate::certificate::cut::flow::Kind;
use crate::certificate::order::artefact::RepeatedRegistration;
use crate::certificate::order::artefact::Seat;
use crate::certificate::order::rings::Ring;
use crate::certificate::order::rule::Rule;
use crate::proof::cut::points;
use crate::proof::cut::trace;
use crate::proof::cut::trace::Element;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;

/// How many threads a registration counts for.
const WARP: i64 = 32;

/// How many parameter values are tried, and how many operations of a class.
const POINTS: usize = 12;
const MAX_OPS: usize = 400;

/// With at most this many seats, every choice of those that end is tried.
const ENDING: usize = 8;

/// A registration: the operation, its number and its count.
type Seen = (usize, i64, i64);

/// The observations at some parameters: for each class, its size and its registrations at a ring, in order.
type Run = Vec<(i64, Vec<Seen>)>;

impl Search<'_> {
    /// The registrations that have a numbering of their own, and the seats. They are needed for barriers at which a
    /// class registers in several places, or at which a count cannot be shown otherwise to be the number of members
    /// that come to each generation.
    pub(super) fn seats(&self) -> Result<(Vec<RepeatedRegistration>, Vec<Seat>), String> {
        let mut open = Vec::new();
        for (nth, ring) in self.rule.rings.iter().enumerate() {
            let named = self.protocol.objects[ring.object].kind == ObjectKind::Named;
            let several = ring.arrivals.len() > ring.arriving().len();
            if named
                && ring.count.is_none()
                && (several || self.all_of(&self.rule.counted(nth)).is_err())
            {
                open.push(nth);
            }
        }
        if open.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let mut runs = Vec::new();
        for params in points::draw(self.protocol, &[]).into_iter().take(POINTS) {
            if let Some(run) = watch(self.protocol, &self.rule.classes, &params) {
                runs.push((params, run));
            }
            self.stop()?;
        }
        let mut found = Vec::new();
        for nth in open {
            let ring = &self.rule.rings[nth];
            let of_ring = |(params, run): &(Vec<i64>, Watched)| of_ring(ring, params, run);
            let runs: Option<Vec<Run>> = runs.iter().map(of_ring).collect();
            if let Some(runs) = runs
                && let Some(shares) = Shares::of(ring, &runs)
                && let Some(ends) = shares.ending(&runs)
            {
                found.push((nth, shares, ends));
            }
        }
        let again: Vec<RepeatedRegistration> =
            found.iter().flat_map(|(_, s, _)| s.again()).collect();
        // Shadows now have their positions.
        let rule = self.with(&again)?;
        let mut seats = Vec::new();
        for (ring, shares, ends) in &found {
            for class in rule.rings[*ring].arriving() {
                let mut sites = rule.rings[*ring].arrivals_of(class);
                let of = |site| {
                    Some((
                        rule.member(class),
                        *shares.sites.get(&(rule.member(class), site))?,
                    ))
                };
                let Some(share) = sites.find_map(of) else {
                    continue;
                };
                let first = shares.firsts.get(&share).copied().unwrap_or_default();
                let ends = ends.contains(&share);
                if first != 0 || ends {
                    seats.push(Seat {
                        class,
                        ring: *ring,
                        first,
                        ends,
                    });
                }
            }
        }
        Ok((again, seats))
    }

    fn with(&self, again: &[RepeatedRegistration]) -> Result<Rule<'_>, String> {
        let parts = super::Parts {
            again: again.to_vec(),
            apart: self.parts.apart.clone(),
            ..super::Parts::default()
        };
        parts.rule(self.protocol, &[], &[]).map_err(uncovered)
    }
}

/// What a run says about a ring.
fn of_ring(ring: &Ring, params: &[i64], run: &Watched) -> Option<Run> {
    let size = trace::value(&ring.size, params, &HashMap::new())?;
    let number = |there: &Registered| {
        let place = ring.moving.and_then(|at| there.index.get(at));
        there.generation * size + place.copied().unwrap_or_default()
    };
    let class = |(class, (size, seen)): (usize, &(i64, Vec<Registered>))| {
        let own = |there: &&Registered| ring.arrivals.contains(&(class, there.site));
        let own = seen.iter().filter(own);
        let seen = own.map(|there| (there.site, number(there), there.count));
        (*size, seen.collect())
    };
    Some(run.iter().enumerate().map(class).collect())
}

/// A division of the registrations of classes into shares. Each share is numbered separately.
#[derive(Default)]
struct Shares {
    /// For an operation of a class, its share: 0 for that of the class itself, others for those of
    /// shadows.
    sites: BTreeMap<(usize, usize), usize>,
    /// The first number of a share.
    firsts: BTreeMap<(usize, usize), i64>,
}

impl Shares {
    /// The shares that fit all runs, if there are any.
    fn of(ring: &Ring, runs: &[Run]) -> Option<Shares> {
        let mut shares = Shares::default();
        for run in runs {
            for class in ring.arriving() {
                let Some((_, seen)) = run.get(class) else {
                    continue;
                };
                // The next number in each share that has begun.
                let mut next: BTreeMap<usize, i64> = BTreeMap::new();
                for (site, number, _) in seen {
                    let fits = |share: &usize| {
                        let first = shares.firsts.get(&(class, *share));
                        next.get(share).or(first).is_none_or(|next| next == number)
                    };
                    let share = match shares.sites.get(&(class, *site)) {
                        Some(share) => Some(*share).filter(fits),
                        None => (0..ring.arrivals.len()).find(fits),
                    }?;
                    shares.sites.insert((class, *site), share);
                    shares.firsts.entry((class, share)).or_insert(*number);
                    next.insert(share, number + 1);
                }
            }
        }
        Some(shares)
    }

    /// The registrations of all shares but the first ones.
    fn again(&self) -> Vec<RepeatedRegistration> {
        let sites = self.sites.iter();
        let later = sites.filter_map(|((class, site), share)| {
            let shadow = share.checked_sub(1)?;
            Some(RepeatedRegistration {
                class: *class,
                site: *site,
                shadow,
            })
        });
        later.collect()
    }

    /// The shares whose seats end, such that every count in all runs is that of the members that take part. There are
    /// as few as possible.
    fn ending(&self, runs: &[Run]) -> Option<Vec<(usize, usize)>> {
        let runs: Vec<Counted> = runs.iter().map(|run| self.counted(run)).collect();
        let shares: Vec<(usize, usize)> = self.firsts.keys().copied().take(ENDING).collect();
        let mut choices: Vec<usize> = (0..1_usize << shares.len()).collect();
        choices.sort_by_key(|choice| choice.count_ones());
        let chosen = |choice: usize| {
            let shares = shares.iter().enumerate();
            let shares = shares.filter(move |(nth, _)| choice >> nth & 1 == 1);
            shares.map(|(_, share)| *share).collect::<Vec<_>>()
        };
        choices
            .into_iter()
            .map(chosen)
            .find(|ends| runs.iter().all(|run| self.fits(run, ends)))
    }

    fn counted(&self, run: &Run) -> Counted {
        let mut counted = Counted::default();
        for (class, (size, seen)) in run.iter().enumerate() {
            for (site, number, count) in seen {
                let share = self.sites.get(&(class, *site)).copied().unwrap_or_default();
                let last = counted.last.entry((class, share)).or_insert(*number);
                *last = (*last).max(*number);
                counted.counts.push((*number, *count));
            }
            let own = self.firsts.keys().filter(|(of, _)| *of == class);
            counted.sizes.extend(own.map(|share| (*share, *size)));
        }
        counted.counts.sort_unstable();
        counted.counts.dedup();
        counted
    }

    /// Whether each count is that of the members that take part.
    fn fits(&self, run: &Counted, ends: &[(usize, usize)]) -> bool {
        run.counts.iter().all(|(number, count)| {
            let seated = |share: &&(usize, usize)| {
                let first = self.firsts.get(*share).copied().unwrap_or_default();
                let last = run.last.get(*share).copied();
                let over = ends.contains(*share) && last.is_none_or(|last| *number > last);
                *number >= first && !over
            };
            let seated = run.sizes.keys().filter(seated);
            let members: i64 = seated.filter_map(|share| run.sizes.get(share)).sum();
            members * WARP == *count
        })
    }
}

/// What one run says about counts.
#[derive(Default)]
struct Counted {
    sizes: BTreeMap<(usize, usize), i64>,
    last: BTreeMap<(usize, usize), i64>,
    counts: Vec<(i64, i64)>,
}

/// What an element counts.
#[derive(Default)]
struct There {
    /// Completed generations.
    generation: i64,
    arrived: i64,
    bytes: i64,
}

/// A registration at a named barrier: for which generation of its element, from 0.
struct Registered {
    site: usize,
    index: Vec<i64>,
    generation: i64,
    count: i64,
}

/// Per class: its size, and its registrations at named barriers.
type Watched = Vec<(i64, Vec<Registered>)>;

/// Runs all members as far as possible, the members of each class together.
fn watch(protocol: &Protocol, classes: &[Class], params: &[i64]) -> Option<Watched> {
    let none = HashMap::new();
    let mut members = Vec::new();
    for class in classes {
        let size = trace::value(&class.size, params, &none)?.max(0);
        members.push((size, trace::trace(class, params, MAX_OPS)?));
    }
    let mut world: HashMap<&Element, There> = HashMap::new();
    let mut at = vec![0; classes.len()];
    let mut joined: Vec<i64> = vec![0; classes.len()];
    let mut seen: Watched = members
        .iter()
        .map(|(size, _)| (*size, Vec::new()))
        .collect();
    loop {
        let mut moved = false;
        for (class, (size, ops)) in members.iter().enumerate() {
            while *size > 0
                && let Some(op) = ops.get(at[class])
            {
                let there = world.entry(&op.element).or_default();
                let object = &protocol.objects[op.element.0].kind;
                match &classes[class].flow.sites[op.site].kind {
                    Kind::Await if there.generation <= joined[class] => break,
                    Kind::WaitParity { .. } if there.generation % 2 == op.operand => break,
                    Kind::Register { .. } => {
                        joined[class] = there.generation;
                        there.arrived += size;
                        if *object == ObjectKind::Named {
                            seen[class].1.push(Registered {
                                site: op.site,
                                index: op.element.1.clone(),
                                generation: there.generation,
                                count: op.operand,
                            });
                        }
                    }
                    Kind::Arrive { .. } => there.arrived += size * op.operand,
                    Kind::Expect { .. } => there.bytes += size * op.operand,
                    Kind::Deliver { .. } => there.bytes -= size * op.operand,
                    _ => {}
                }
                let full = match object {
                    // A member that waits there gives no count.
                    ObjectKind::Named if op.operand == 0 => None,
                    ObjectKind::Named => Some(op.operand / WARP),
                    ObjectKind::Mbarrier { arrivals, .. } | ObjectKind::Barrier { arrivals } => {
                        Some(trace::value(arrivals, params, &none)?)
                    }
                    _ => return None,
                };
                if full.is_some_and(|full| there.arrived >= full.max(1)) && there.bytes == 0 {
                    there.generation += 1;
                    there.arrived = 0;
                }
                at[class] += 1;
                moved = true;
            }
        }
        if !moved {
            return Some(seen);
        }
    }
}
