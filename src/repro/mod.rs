//! Prepares the smallest input that makes a protocol hang, in a form that can be given to others.
//!
//! [`smallest`] decides a protocol and takes its counterexample. [`family`] looks for the smallest counterexample
//! whose pattern has a certain origin: sequence packing, or a causal or sliding window. A [`Failure`] has been
//! replayed by the reference semantics. [`emit`] writes it as the arrays that a kernel gets, as a script that shows
//! the hang, or as a CUDA program that hangs.
//!
//! `docs/repro.md` documents the command.

pub mod cuda;
pub mod emit;
mod failure;
pub mod family;
mod hunt;
mod kernel_order;
mod packed;
mod script;
mod windows;

pub use failure::Failure;
pub use failure::open_pattern;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::tensors::TensorError;
use crate::text::Narrowing;
use crate::verdict;
use crate::verdict::deadlock;
use crate::verdict::deadlock::Internal;
use crate::verdict::decision::Decision;
use crate::verdict::decision::Verdict;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReproError {
    /// A family makes patterns, and this protocol has no pattern for it.
    #[error(
        "a family makes a pattern over column and row tiles, and this protocol does not have \
         exactly one open pattern with two coordinates"
    )]
    NoOpenPattern,
    /// An invalid tile size.
    #[error("the tile size along {axis} is {tile}; it must be 1 to 16777216")]
    TileSize {
        /// `m` or `n`.
        axis: char,
        /// The size given.
        tile: u64,
    },
    /// Arrays beyond their limits.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// A mistake in this program: the reference semantics rejects the result.
    #[error("a counterexample did not replay: {0}")]
    Replay(String),
    /// A mistake in this program: two parts of it disagree.
    #[error(transparent)]
    Internal(#[from] Internal),
}

impl ReproError {
    /// Whether it is a mistake of the program and not of the user.
    pub fn is_internal(&self) -> bool {
        matches!(self, ReproError::Replay(_) | ReproError::Internal(_))
    }
}

/// Decides a protocol and, where it can hang, prepares its smallest counterexample.
///
/// # Errors
/// Two parts of the program that disagree.
pub fn smallest(
    protocol: &Protocol,
    narrowing: &Narrowing,
    settings: &deadlock::Settings<'_>,
) -> Result<(Decision, Option<Failure>), ReproError> {
    let decision = verdict::decide(protocol, narrowing, Property::Deadlock, settings)?;
    let Verdict::Refuted(refutation) = &decision.verdict else {
        return Ok((decision, None));
    };
    let mut failure = Failure::new(
        protocol,
        refutation.input.clone(),
        refutation.schedule.clone(),
        None,
        None,
        refutation.smallest.clone(),
    )?;
    if let Some(pattern) = open_pattern(protocol) {
        let arrays = failure::arrays(protocol, pattern, &failure.input, &failure.instance)?;
        failure.tiles = Some(arrays);
    }
    Ok((decision, Some(failure)))
}
