//! Searches for a proof by the credit rule: which additions each wait is for, and ranks.
//!
//! Programs are run at small parameter values. For each wait, every supply that fits these runs is tried. In such a
//! supply, an index or loop variable of the addition is one of the wait plus a number, wrapped around or not, or it
//! has a range of such values. Ranks are then solutions of linear programs over the pairs of waits that remain.

mod ranks;
mod samples;
mod sums;
mod supplies;

use std::time::Instant;

use itertools::Itertools;

use super::Guess;
use super::accepted;
use super::cut::trace;
use super::uncovered_in;
use crate::certificate::argument::Argument;
use crate::certificate::credit;
use crate::certificate::credit::Credit;
use crate::certificate::credit::Credited;
use crate::certificate::credit::Supply;
use crate::certificate::grid::Residency;
use crate::certificate::program::Program;
use crate::fresh;
use crate::protocol::Domain;
use crate::protocol::Protocol;
use crate::protocol::Resident;
use crate::semantics::unfold;
use samples::Execution;
use samples::Sample;

/// How far each parameter goes above its least value; how far a single parameter goes; and how many points are run.
const REACH: i64 = 3;
const FAR: [i64; 2] = [9, 33];
const POINTS: usize = 60;

/// The same if little work may be done, and how many pairs of waits are then examined.
const FEW: usize = 12;
const MAX_PAIRS: usize = 300;

/// The number of executions of a wait that its supplies are fitted to.
const FITTED: usize = 48;

/// Looks for a proof that the checker accepts.
pub fn guess(protocol: &Protocol, deadline: Instant, tell: &dyn Fn(&str)) -> Guess {
    let programs = match credit::programs(protocol) {
        Ok(programs) => programs,
        Err(refused) => return Guess::nothing(uncovered_in(protocol)(refused)),
    };
    tell("running programs at small values");
    let search = Search::new(protocol, &programs, deadline, POINTS);
    let alternatives = match search.all_alternatives() {
        Ok(alternatives) => alternatives,
        Err(reason) => return Guess::nothing(reason),
    };
    let residency = residency(protocol);
    let mut reason = String::new();
    for over in Over::ALL {
        let ranks = match fresh::context(|| search.ranks(&alternatives, over)) {
            Ok(ranks) => ranks,
            Err(refused) => {
                reason = refused;
                continue;
            }
        };
        let both = alternatives.iter().cloned().zip(ranks);
        let waits = both.map(|(alternatives, rank)| Credited { rank, alternatives });
        let waits: Vec<Credited> = waits.collect();
        for &residency in &residency {
            let waits = waits.clone();
            let argument = Argument::Credit(Credit { residency, waits });
            match accepted(protocol, &argument, false, deadline, tell) {
                Ok(()) => return Guess::Found(argument),
                Err(refused) => reason = refused,
            }
        }
    }
    Guess::nothing(reason)
}

/// Possible supplies of each wait, and ranks that fit small values. Nothing is checked.
pub(super) fn proposal(
    protocol: &Protocol,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<Vec<Credited>, String> {
    let programs = credit::programs(protocol).map_err(uncovered_in(protocol))?;
    tell("running programs at small values");
    let search = Search::new(protocol, &programs, deadline, FEW);
    let alternatives = search.all_alternatives()?;
    let mut reason = String::new();
    for over in Over::ALL {
        match fresh::context(|| search.ranks(&alternatives, over)) {
            Ok(ranks) => {
                let both = alternatives.into_iter().zip(ranks);
                let waits = both.map(|(alternatives, rank)| Credited { rank, alternatives });
                return Ok(waits.collect());
            }
            Err(refused) => reason = refused,
        }
    }
    Err(reason)
}

/// The possible reasons why CTAs that have not started do no harm: the machine holds all of them, or no member needs
/// one of them.
fn residency(protocol: &Protocol) -> Vec<Residency> {
    let mut launches = protocol.roles.iter().filter_map(|r| r.launch.as_ref());
    match launches.any(|launch| matches!(launch.resident, Resident::AtMost(_))) {
        true => vec![Residency::WholeGrid, Residency::LaunchOrder],
        false => vec![Residency::WholeGrid],
    }
}

/// The names that ranks are sums of, besides loop variables. A sum of few names that fits small values is likely to
/// fit all values.
#[derive(Debug, Clone, Copy)]
struct Over {
    params: bool,
    indices: bool,
    /// Whether a name has the same factor in the ranks of all waits of a role.
    alike: bool,
}

impl Over {
    const NOTHING: Over = Over {
        params: false,
        indices: false,
        alike: false,
    };

    const INDICES: Over = Over {
        indices: true,
        ..Over::NOTHING
    };

    const ALL: [Over; 5] = [
        Over::NOTHING,
        Over {
            params: true,
            ..Over::NOTHING
        },
        Over {
            alike: true,
            ..Over::INDICES
        },
        Over::INDICES,
        Over {
            params: true,
            ..Over::INDICES
        },
    ];
}

struct Search<'p> {
    protocol: &'p Protocol,
    programs: &'p [Program],
    waits: Vec<(usize, usize)>,
    samples: Vec<Sample>,
    deadline: Instant,
    /// Whether only little work may be done.
    brief: bool,
}

impl<'p> Search<'p> {
    fn new(
        protocol: &'p Protocol,
        programs: &'p [Program],
        deadline: Instant,
        most: usize,
    ) -> Search<'p> {
        let values = |domain: &Domain| match domain {
            Domain::AtLeast(least) => (*least..=least.saturating_add(REACH)).collect(),
            Domain::Range(least, most) => {
                (*least..=(*most).min(least.saturating_add(REACH))).collect()
            }
            Domain::Set(values) => values.iter().copied().take(3).collect::<Vec<i64>>(),
        };
        let domains = protocol.params.iter().map(|param| values(&param.domain));
        let mut far: Vec<Vec<i64>> = Vec::new();
        let mut points: Vec<Vec<i64>> = domains.multi_cartesian_product().take(4_096).collect();
        // A proof attempt with a supply that fits only small values would be a waste of time.
        for at in 0..protocol.params.len() {
            for (others, away) in [1, 2].into_iter().cartesian_product(FAR) {
                let value = |(nth, domain): (usize, &Domain)| {
                    let plus = if nth == at { away } else { others };
                    match domain {
                        Domain::AtLeast(least) => least.saturating_add(plus),
                        Domain::Range(least, most) => least.saturating_add(plus).min(*most),
                        Domain::Set(values) => values.last().copied().unwrap_or(0),
                    }
                };
                let domains = protocol.params.iter().map(|param| &param.domain);
                let point: Vec<i64> = domains.enumerate().map(value).collect();
                far.push(point);
            }
        }
        // Some points of each kind.
        points.sort_by_cached_key(|point| trace::any(point));
        let mut samples: Vec<Sample> = Vec::new();
        for params in far.iter().chain(&points) {
            if samples.len() == most || Instant::now() >= deadline {
                break;
            }
            if unfold::check_params(protocol, params).is_ok()
                && let Some(sample) = Sample::new(protocol, programs, params)
            {
                samples.push(sample);
            }
        }
        Search {
            waits: credit::waits(programs),
            protocol,
            programs,
            samples,
            deadline,
            brief: most < POINTS,
        }
    }

    fn all_alternatives(&self) -> Result<Vec<Vec<Vec<Supply>>>, String> {
        let mut all = Vec::new();
        for &(role, event) in &self.waits {
            all.push(self.alternatives(role, event)?);
        }
        Ok(all)
    }

    fn quote(&self, role: usize, event: usize) -> String {
        let span = self.programs[role].events[event].span;
        let text = self.protocol.source.get(span.start..span.end);
        text.unwrap_or("?").split_whitespace().join(" ")
    }

    fn stop(&self) -> Result<(), String> {
        match Instant::now() < self.deadline {
            true => Ok(()),
            false => Err("the time was up".to_owned()),
        }
    }

    /// The executions of a wait that it is fitted to: some of each sample.
    fn fitted(&self, role: usize, event: usize) -> Vec<(&Sample, &Execution)> {
        let all = self.samples.iter().flat_map(|sample| {
            let all = sample.all.iter().map(move |this| (sample, this));
            all.filter(|(_, this)| (this.role, this.event) == (role, event) && this.amount > 0)
        });
        let all: Vec<_> = all.collect();
        let step = all.len().div_ceil(FITTED).max(1);
        all.into_iter().step_by(step).collect()
    }

    fn member<'e>(&self, of: &'e Execution) -> &'e [i64] {
        &of.values[..self.protocol.roles[of.role].indices.len()]
    }

    fn nth(&self, of: &Execution) -> Option<usize> {
        let mut waits = self.waits.iter();
        waits.position(|wait| *wait == (of.role, of.event))
    }
}
