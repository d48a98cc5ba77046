//! The verdict on a scheme at concrete arrays: which row tiles complete, under which schedules
//! and for which numbers of resident CTAs.
//!
//! Everything that runs here runs in the reference semantics; what is added is the argument why
//! one run speaks for all of them. A lock that leaves no open order (see [`super::open`] for
//! those) is judged so:
//!
//! *No value is repeated at any row tile.* Then only the owner of the current turn can be
//! between its wait and its increment, so no step takes away another member's step, and a start
//! only ever competes with nobody (the order is fixed, places only become free). All maximal
//! runs therefore do the same steps, and one run decides every tile: it completes in every
//! schedule or in none. More resident CTAs only allow starts earlier, so what completes at R
//! completes at R + 1, and the least sufficient R is found by bisection.
//!
//! *Some value is repeated.* The run driven here executes each increment directly after its
//! wait, so of two owners of a value one stays behind: the kernel can hang, for every R. A tile
//! with a gap completes in no schedule ([`super::shape`]). To find what completes in every
//! schedule, every wait from the least repeated value of its tile on is made impassable: what
//! still runs is done by every maximal run. For suppose one misses some of these steps, and take
//! the first: everything before it has happened, so its wait's turn has come, and it cannot have
//! passed by, because below the least repeated value only the owner moves a turn on.

use crate::protocol::Comparison;
use crate::protocol::RowOrder;
use crate::semantics::error::RunError;
use crate::semantics::greedy::run_greedy;
use crate::semantics::instance::Instance;
use crate::semantics::instance::LaunchPlan;
use crate::semantics::instance::OpKind;
use crate::semantics::step;
use crate::semantics::step::State;
use crate::tensors::BlockSparse;
use crate::text::Diagnostic;

use super::load;
use super::load::Turns;
use super::lock::LaunchChoice;
use super::open;
use super::shape::Shape;
use super::shape::least_repeated;
use super::template::Scheme;

/// Why a scheme could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// The lock's expression is not one; spans are byte ranges of it.
    #[error("the lock is not an expression of the protocol language")]
    Expression(Vec<Diagnostic>),
    /// The lock has no value at some tile, or the arrays are too large.
    #[error("{0}")]
    Run(RunError),
}

/// Whether the kernel can hang on these arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It completes, in every schedule asked about.
    Completes,
    /// It can hang: the run shown does.
    Hangs,
    /// Nothing is known, with the reason as a lowercase fragment.
    Unknown(String),
}

/// For which numbers of resident CTAs the kernel completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residency {
    /// For every number.
    Every,
    /// From this number on, and for no smaller one.
    From(usize),
    /// When all CTAs are resident, and not with one; numbers between were not asked about.
    AllResident,
    /// For no number.
    Never,
    /// Only this number was asked about.
    Fixed(usize),
}

/// What becomes of a row tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It completes in every schedule; where an order was left open and the kernel can hang,
    /// in the run shown.
    Completes,
    /// It completes if enough CTAs are resident, and not with one.
    NeedsResidency,
    /// It completes in some schedules or orders at most: not in the run shown, or not surely.
    Depends,
    /// It completes in no schedule.
    Never,
}

/// A row tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTile {
    /// What becomes of it.
    pub fate: Fate,
    /// What its lock values are.
    pub shape: Shape,
    /// How many visitors took their turn in the run shown.
    pub taken: usize,
}

/// The run that the table describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// How many CTAs are resident.
    pub resident: usize,
    /// CTAs in the order in which they start.
    pub launch: Vec<u32>,
    /// What is special about its orders, where the question left them open; may be empty.
    pub remark: String,
    /// The state it ends in.
    pub state: State,
}

/// The verdict on a scheme at concrete arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it can hang.
    pub outcome: Outcome,
    /// For how many resident CTAs.
    pub residency: Residency,
    /// Every row tile.
    pub tiles: Vec<RowTile>,
    /// The turns of the run shown.
    pub turns: Turns,
    /// The instance of the run shown.
    pub instance: Instance,
    /// The run shown.
    pub shown: Shown,
}

/// Judges a scheme at concrete arrays, for one number of resident CTAs or for all.
///
/// # Errors
/// A lock that is no expression or has no value at some tile.
pub fn judge(
    tiles: &BlockSparse,
    scheme: &Scheme,
    resident: Option<usize>,
) -> Result<Judgement, SchemeError> {
    let protocol = scheme.protocol().map_err(SchemeError::Expression)?;
    let instance = load::instance(tiles, scheme.order, &protocol).map_err(SchemeError::Run)?;
    let Some(bench) = Bench::new(instance) else {
        let message = "this is not one expression: the protocol it makes does more than to wait \
                       for a turn and to pass it on";
        let span = crate::protocol::Span {
            start: 0,
            end: scheme.lock.expression.len(),
        };
        return Err(SchemeError::Expression(vec![Diagnostic::error(
            span, message,
        )]));
    };
    let resident = resident.map(|resident| resident.max(1));
    let open = scheme.order == RowOrder::Any || scheme.launch == LaunchChoice::Any;
    Ok(match (open, resident) {
        (true, _) => open::judge(bench, tiles, scheme, &protocol, resident),
        (false, Some(resident)) => bench.fixed(resident),
        (false, None) => bench.every(),
    })
}

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

    fn fixed(mut self, resident: usize) -> Judgement {
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

    fn every(mut self) -> Judgement {
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
