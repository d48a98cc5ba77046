//! The verdict on a scheme at concrete arrays: which row tiles complete, under which schedules, and for which numbers
//! of resident CTAs.
//!
//! Runs are those of the reference semantics ([`super::run`]). This module adds the argument why one run is enough.
//! It is for locks without an open order ([`super::open`] is for the others). There are two cases.
//!
//! *No value is repeated at any row tile.* Then only the owner of the current turn can be between its wait and its
//! increment. So no step disables a step of another member. Starts do not compete either, because their order is
//! fixed and places only become free. Therefore all maximal runs make the same steps, and one run decides every tile:
//! the tile completes in every schedule or in none. More resident CTAs only make starts possible earlier. So a tile
//! that completes at R also completes at R + 1, and bisection finds the least sufficient R.
//!
//! *Some value is repeated.* The run that is made here executes each increment directly after its wait. So of two
//! owners of a value, one stays behind: the kernel can hang, for every R. A tile with a gap completes in no schedule
//! ([`super::shape`]). To find the tiles that complete in every schedule, all waits of a tile from its least repeated
//! value on are made impassable. Then every maximal run makes the steps that are still possible. Proof: suppose that
//! a run misses some of these steps, and take the first of them. All steps before it have happened, so the turn of
//! its wait has come. This turn cannot have passed, because below the least repeated value only the owner ends a
//! turn.

use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::semantics::error::RunError;
use crate::tensors::BlockSparse;
use crate::tensors::torch::LockScheme;
use crate::text::Diagnostic;

use super::bench::Bench;
use super::lock::LaunchChoice;
use super::open;
use super::run::State;
use super::run::launch_order;
use super::run::run;
use super::shape::Shape;
use super::template::Scheme;
use super::visits::TurnLoop;
use super::visits::Turns;
use super::visits::Visits;

/// Why a scheme could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// The lock is not an expression. Spans are byte ranges of the lock's text.
    #[error("the lock is not an expression of the protocol language")]
    Expression(Vec<Diagnostic>),
    /// The lock has no value at some tile, or the arrays are too large.
    #[error("{0}")]
    Run(RunError),
}

/// Whether the kernel can hang on these arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It completes in every schedule that was asked about.
    Completes,
    /// It can hang: the run that is shown hangs.
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
    /// If all CTAs are resident, and not with one. Numbers in between were not checked.
    AllResident,
    /// For no number.
    Never,
    /// Only this number was asked about.
    Fixed(usize),
}

/// The result for a row tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It completes in every schedule. If an order is open and the kernel can hang, this is only about the run that
    /// is shown.
    Completes,
    /// It completes if enough CTAs are resident, and not with one.
    NeedsResidency,
    /// It completes at most in some schedules or orders. It does not complete in the run that is shown, or it is not
    /// certain.
    Depends,
    /// It completes in no schedule.
    Never,
}

/// A row tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTile {
    /// What becomes of it.
    pub fate: Fate,
    /// The shape of its lock values.
    pub shape: Shape,
    /// How many visitors took their turn in the run shown.
    pub taken: usize,
}

/// The run that the table shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// How many CTAs are resident.
    pub resident: usize,
    /// CTAs in the order in which they start.
    pub launch: Vec<u32>,
    /// A remark about its orders, if the scheme leaves an order open; may be empty.
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
    /// The visits of every CTA in the run that is shown.
    pub visits: Visits,
    /// The same by row tile.
    pub turns: Turns,
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
    let visits = visits(tiles, scheme, &protocol)?;
    let launch = launch_order(scheme.launch, visits.n_blocks());
    let bench = Bench::new(visits, launch);
    let resident = resident.map(|resident| resident.max(1));
    let open = scheme.order == RowOrder::Any || scheme.launch == LaunchChoice::Any;
    Ok(match (open, resident) {
        (true, _) => open::judge(bench, tiles, scheme, &protocol, resident),
        (false, Some(resident)) => bench.fixed(resident),
        (false, None) => bench.every(),
    })
}

/// Whether a scheme completes at concrete arrays for every number of resident CTAs. If no order is open, this is less
/// work than to judge the scheme.
///
/// # Errors
/// As for [`judge`](judge()).
pub fn always_completes(tiles: &BlockSparse, scheme: &Scheme) -> Result<bool, SchemeError> {
    if scheme.order == RowOrder::Any || scheme.launch == LaunchChoice::Any {
        return Ok(judge(tiles, scheme, None)?.residency == Residency::Every);
    }
    let protocol = scheme.protocol().map_err(SchemeError::Expression)?;
    let visits = visits(tiles, scheme, &protocol)?;
    let launch = launch_order(scheme.launch, visits.n_blocks());
    Ok(run(&visits, &launch, 1, None).is_finished())
}

fn visits(
    tiles: &BlockSparse,
    scheme: &Scheme,
    protocol: &Protocol,
) -> Result<Visits, SchemeError> {
    let Some(turn) = TurnLoop::of(protocol) else {
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
    Visits::new(tiles, scheme.order, protocol, &turn).map_err(SchemeError::Run)
}

impl Judgement {
    /// The rows, the locks and the launch of the run shown.
    pub fn lock_scheme(&self) -> LockScheme {
        LockScheme {
            rows: self.visits.tiles().to_vec(),
            locks: self.visits.locks().to_vec(),
            launch: self.shown.launch.iter().map(|n| *n as usize).collect(),
            resident: self.shown.resident.max(1),
        }
    }
}
