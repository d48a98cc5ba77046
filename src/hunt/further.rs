//! Searches for further counterexamples of deadlock. Two counterexamples that differ only in their values count as
//! one.

use std::collections::BTreeSet;

use crate::protocol::Protocol;
use crate::protocol::StmtId;
use crate::semantics::inputs::Inputs;
use crate::semantics::step;
use crate::semantics::unfold;

use super::Hang;
use super::Hunter;
use super::LARGEST;
use super::WORK;
use super::Watch;
use super::bounds;
use super::grid::Region;
use super::schedules;
use super::shorten;

/// How far from the least parameter values the search goes.
const RADIUS: i64 = 3;

/// How many stuck runs are looked at per input.
const RUNS: usize = 256;

/// How many inputs are tried per combination of parameter values.
const INPUTS: usize = 64;

/// The roles and statements at which members wait when nobody can go on.
pub type Blocked = BTreeSet<(usize, StmtId)>;

/// The result of a search for further counterexamples.
#[derive(Debug)]
pub struct Further {
    /// The counterexamples that were found.
    pub hangs: Vec<Hang>,
    /// If the search ended with fewer counterexamples than wanted: how far it went, as a clause.
    pub limits: Option<String>,
}

impl Hunter<'_> {
    /// Up to so many counterexamples that count, in which other statements of other roles wait than in
    /// `known` and in each other. Parameters are enumerated as in a box.
    pub fn further(
        &mut self,
        known: &Hang,
        wanted: usize,
        counts: &dyn Fn(&Hang) -> bool,
        watch: &Watch<'_>,
    ) -> Further {
        let mut seen: BTreeSet<Blocked> = blocked(self.protocol, known).into_iter().collect();
        let mut found: Vec<Hang> = Vec::new();
        (self.tell)("looking for further counterexamples");
        let region = Region::of_radius(self.protocol, RADIUS);
        let points = region.points(self.protocol, &self.order);
        'points: for params in points.chain([known.input.params.clone()]) {
            let Ok(inputs) = Inputs::new(self.protocol, &params, &bounds(LARGEST)) else {
                continue;
            };
            for (input, instance) in inputs.take(INPUTS).map_while(Result::ok) {
                for schedule in schedules::every(&instance, WORK, RUNS, watch) {
                    let input = input.clone();
                    let hang = Hang::of(input, schedule);
                    let places = blocked(self.protocol, &hang).filter(|_| counts(&hang));
                    if found.len() < wanted && places.is_some_and(|places| seen.insert(places)) {
                        found.push(hang);
                    }
                }
                if found.len() >= wanted || watch.over() {
                    break 'points;
                }
            }
        }
        let limits = (found.len() < wanted).then(|| {
            let within = region.describe(self.protocol);
            let late = if watch.over() {
                ", until the time was up"
            } else {
                ""
            };
            format!(
                "looked through for {within} and at the values of the first: up to {INPUTS} inputs \
                 each, and up to {RUNS} stuck runs of each input{late}"
            )
        });
        let hangs = found.into_iter();
        let hangs = hangs.map(|hang| shorten::tidied(self.protocol, hang));
        Further {
            hangs: hangs.collect(),
            limits,
        }
    }
}

/// Where members wait at the end of a run; `None` if it does not end in a stuck state.
pub fn blocked(protocol: &Protocol, hang: &Hang) -> Option<Blocked> {
    let instance = unfold::instantiate(protocol, &hang.input).ok()?;
    let mut state = step::initial(&instance);
    for action in &hang.schedule {
        step::apply(&instance, &mut state, *action).ok()?;
    }
    let waiting = step::blocked(&instance, &state).into_iter();
    let places = waiting.map(|b| (instance.members[b.member].role, b.op.stmt));
    step::is_stuck(&instance, &state).then(|| places.collect())
}
