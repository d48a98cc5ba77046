//! An instance on the bench: run again and again with other numbers of resident CTAs.
//!
//! The arguments why one run speaks for all are in [`super::judge`]; here is what they need run.

use crate::protocol::Comparison;
use crate::semantics::greedy::run_greedy;
use crate::semantics::instance::Instance;
use crate::semantics::instance::LaunchPlan;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::State;

use super::judge::Fate;
use super::judge::Judgement;
use super::judge::Outcome;
use super::judge::Residency;
use super::judge::RowTile;
use super::judge::Shown;
use super::load;
use super::load::Turns;
use super::shape::Shape;
use super::shape::least_repeated;

/// An instance and what is known about its turns.
pub(super) struct Bench {
    pub(super) instance: Instance,
    pub(super) turns: Turns,
    pub(super) shapes: Vec<Shape>,
    /// Per row tile, the least repeated value.
    repeated: Vec<Option<i64>>,
}

impl Bench {
    pub(super) fn new(instance: Instance) -> Option<Bench> {
        let turns = Turns::of(&instance)?;
        let mut scratch = Vec::new();
        let all = 0..turns.m_blocks();
        let shapes = all.clone().map(|m| Shape::of(turns.at(m), &mut scratch));
        let shapes = shapes.collect();
        let repeated = all.map(|m| least_repeated(turns.at(m), &mut scratch));
        Some(Bench {
            shapes,
            repeated: repeated.collect(),
            instance,
            turns,
        })
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.instance.members.len()
    }

    /// Whether every turn at every row tile has exactly one owner.
    pub(super) fn is_exact(&self) -> bool {
        self.shapes.iter().all(|shape| *shape == Shape::Turns)
    }

    /// Changes how CTAs start; `None` keeps the order of the instance.
    pub(super) fn plan(&mut self, order: Option<Vec<usize>>, resident: usize) {
        if let Some(plan) = self.instance.roles[0].launch.as_mut() {
            plan.resident = Some(resident.max(1));
            if order.is_some() {
                plan.order = order;
            }
        }
    }

    /// Runs the instance to its end.
    pub(super) fn run(&mut self, resident: usize) -> State {
        self.plan(None, resident);
        run_greedy(&self.instance, None).state
    }

    /// The verdict for one number of resident CTAs.
    pub(super) fn fixed(mut self, resident: usize) -> Judgement {
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
    pub(super) fn every(mut self) -> Judgement {
        let all = self.n_blocks().max(1);
        let least = self.run(1);
        if step::is_finished(&self.instance, &least) {
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
        let residency = match step::is_finished(&self.instance, &most) {
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

    /// The least number of resident CTAs that completes, given one that does not and one that
    /// does.
    fn least_sufficient(&mut self, mut hangs: usize, mut completes: usize) -> usize {
        while completes - hangs > 1 {
            let middle = hangs + (completes - hangs) / 2;
            let state = self.run(middle);
            match step::is_finished(&self.instance, &state) {
                true => completes = middle,
                false => hangs = middle,
            }
        }
        completes
    }

    fn has_repeats(&self) -> bool {
        self.repeated.iter().any(Option::is_some)
    }

    /// What every schedule does, given where one ended.
    fn surely(&mut self, state: &State, resident: usize) -> State {
        if !self.has_repeats() {
            return state.clone();
        }
        let mut pessimist = self.instance.clone();
        for member in &mut pessimist.members {
            for op in &mut member.ops {
                let from = self.repeated[op.cell.0 as usize];
                if let OpKind::Wait(Comparison::Equal, lock) = &mut op.kind
                    && from.is_some_and(|from| *lock >= from)
                {
                    // Semaphores are never negative here.
                    *lock = -1;
                }
            }
        }
        if let Some(LaunchPlan {
            resident: places, ..
        }) = pessimist.roles[0].launch.as_mut()
        {
            *places = Some(resident);
        }
        run_greedy(&pessimist, None).state
    }

    pub(super) fn outcome(&self, state: &State) -> Outcome {
        match step::is_finished(&self.instance, state) {
            true => Outcome::Completes,
            false => Outcome::Hangs,
        }
    }

    /// Whether all visitors of a row tile have taken their turn.
    pub(super) fn done(&self, state: &State, m: usize) -> bool {
        let turns = self.turns.at(m).iter();
        turns.into_iter().all(|turn| load::is_taken(state, turn))
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
                taken: turns.filter(|turn| load::is_taken(&state, turn)).count(),
            }
        });
        let plan = self.instance.roles[0].launch.as_ref();
        let order = plan.and_then(|plan| plan.order.clone());
        let launch = order.unwrap_or_else(|| (0..self.n_blocks()).collect());
        Judgement {
            outcome,
            residency,
            tiles: tiles.collect(),
            shown: Shown {
                resident,
                launch: launch.into_iter().map(|n| n as u32).collect(),
                remark,
                state,
            },
            turns: self.turns,
            instance: self.instance,
        }
    }
}
