//! Runs a lock scheme for different numbers of resident CTAs.
//!
//! [`super::judge`] argues why one run is representative of all runs. This module makes the runs that the argument
//! needs.

use super::judge::Fate;
use super::judge::Judgement;
use super::judge::Outcome;
use super::judge::Residency;
use super::judge::RowTile;
use super::judge::Shown;
use super::run::State;
use super::run::run;
use super::shape::Shape;
use super::visits::Turns;
use super::visits::Visits;

/// The programs of the CTAs, and the known facts about their turns.
pub(super) struct Bench {
    pub(super) visits: Visits,
    /// CTAs in the order in which they start.
    pub(super) launch: Vec<usize>,
    pub(super) turns: Turns,
    pub(super) shapes: Vec<Shape>,
    /// Per row tile: the least lock value that two visitors share.
    repeated: Vec<Option<i64>>,
}

impl Bench {
    pub(super) fn new(visits: Visits, launch: Vec<usize>) -> Bench {
        let turns = Turns::of(&visits);
        let mut scratch = Vec::new();
        let all = 0..turns.m_blocks();
        let (shapes, repeated) = all.map(|m| Shape::of(turns.at(m), &mut scratch)).unzip();
        Bench {
            visits,
            launch,
            turns,
            shapes,
            repeated,
        }
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.visits.n_blocks()
    }

    /// Whether every turn at every row tile has exactly one owner.
    pub(super) fn is_exact(&self) -> bool {
        self.shapes.iter().all(|shape| *shape == Shape::Turns)
    }

    /// Runs to the end.
    pub(super) fn run(&self, resident: usize) -> State {
        run(&self.visits, &self.launch, resident, None)
    }

    /// The verdict for one number of resident CTAs.
    pub(super) fn fixed(self, resident: usize) -> Judgement {
        let state = self.run(resident);
        let surely = self.surely(&state, resident);
        let outcome = self.outcome(&state);
        let fate = |bench: &Bench, m: usize| match (bench.shapes[m], bench.done(&state, m)) {
            (Shape::Gap { .. }, _) => Fate::Never,
            _ if bench.done(&surely, m) => Fate::Completes,
            _ if bench.has_repeats() => Fate::Depends,
            _ => Fate::Never,
        };
        let fates = (0..self.shapes.len()).map(|m| fate(&self, m)).collect();
        self.judgement(
            outcome,
            Residency::Fixed(resident),
            fates,
            state,
            resident,
            String::new(),
        )
    }

    /// The verdict for all numbers of resident CTAs.
    pub(super) fn every(self) -> Judgement {
        let all = self.n_blocks().max(1);
        let least = self.run(1);
        if least.is_finished() {
            let fates = vec![Fate::Completes; self.shapes.len()];
            return self.judgement(
                Outcome::Completes,
                Residency::Every,
                fates,
                least,
                1,
                String::new(),
            );
        }
        let most = self.run(all);
        let residency = match most.is_finished() {
            true => Residency::From(self.least_sufficient(1, all)),
            false => Residency::Never,
        };
        let surely = self.surely(&least, 1);
        let fates = (0..self.shapes.len())
            .map(|m| match self.shapes[m] {
                Shape::Gap { .. } => Fate::Never,
                _ if self.done(&surely, m) => Fate::Completes,
                _ if self.has_repeats() => Fate::Depends,
                _ if self.done(&most, m) => Fate::NeedsResidency,
                _ => Fate::Never,
            })
            .collect();
        let (state, resident) = match residency {
            Residency::Never => (most, all),
            _ => (least, 1),
        };
        self.judgement(
            Outcome::Hangs,
            residency,
            fates,
            state,
            resident,
            String::new(),
        )
    }

    /// The least number of resident CTAs with which the scheme completes. Given are a number with which it hangs, and
    /// one with which it completes.
    fn least_sufficient(&self, mut hangs: usize, mut completes: usize) -> usize {
        while completes - hangs > 1 {
            let middle = hangs + (completes - hangs) / 2;
            let state = self.run(middle);
            match state.is_finished() {
                true => completes = middle,
                false => hangs = middle,
            }
        }
        completes
    }

    fn has_repeats(&self) -> bool {
        self.repeated.iter().any(Option::is_some)
    }

    /// The steps that every schedule makes, given the end of one run.
    fn surely(&self, state: &State, resident: usize) -> State {
        if !self.has_repeats() {
            return state.clone();
        }
        run(&self.visits, &self.launch, resident, Some(&self.repeated))
    }

    pub(super) fn outcome(&self, state: &State) -> Outcome {
        match state.is_finished() {
            true => Outcome::Completes,
            false => Outcome::Hangs,
        }
    }

    /// Whether all visitors of a row tile have taken their turn.
    pub(super) fn done(&self, state: &State, m: usize) -> bool {
        let turns = self.turns.at(m).iter();
        turns.into_iter().all(|turn| state.is_taken(turn))
    }

    pub(super) fn judgement(
        self,
        outcome: Outcome,
        residency: Residency,
        fates: Vec<Fate>,
        state: State,
        resident: usize,
        remark: String,
    ) -> Judgement {
        let tiles = fates.into_iter().enumerate().map(|(m, fate)| {
            let turns = self.turns.at(m).iter();
            RowTile {
                fate,
                shape: self.shapes[m],
                taken: turns.filter(|turn| state.is_taken(turn)).count(),
            }
        });
        let launch = self.launch.iter().map(|n| *n as u32);
        Judgement {
            outcome,
            residency,
            tiles: tiles.collect(),
            shown: Shown {
                resident,
                launch: launch.collect(),
                remark,
                state,
            },
            visits: self.visits,
            turns: self.turns,
        }
    }
}
