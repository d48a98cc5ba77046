//! Errors of an input, or of a protocol at an input, that are found before a run.

use thiserror::Error;

use crate::deadline;
use crate::protocol::Span;

/// A fault and the place in the protocol where it shows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault}")]
pub struct RunError {
    /// What is wrong.
    pub fault: Fault,
    /// The declaration or statement at which the fault was found, if there is one.
    pub span: Option<Span>,
}

impl RunError {
    /// A fault and its place.
    pub fn at(fault: Fault, span: Span) -> RunError {
        RunError {
            fault,
            span: Some(span),
        }
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> RunError {
        RunError { fault, span: None }
    }
}

/// The ways in which a protocol and an input do not make a runnable instance.
///
/// The messages are lowercase fragments that fit after "cannot run: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// A value does not fit 64 bits.
    #[error("arithmetic overflow")]
    Overflow,
    /// A quotient or remainder by zero or a negative number.
    #[error("division by {0}: a divisor must be positive")]
    Division(i64),
    /// An operand of exclusive or that is not a phase.
    #[error("`^` applied to {0}: both sides must be 0 or 1")]
    NotAPhase(i64),
    /// A wait for a parity that is neither 0 nor 1.
    #[error("parity {0}: a parity is 0 or 1")]
    Parity(i64),
    /// A name is read before it has a value, or refers to nothing.
    #[error("`{0}` has no value here")]
    Unset(String),
    /// An index outside an object's extent.
    #[error("index {index} of `{object}` is outside 0..{extent}")]
    IndexOutOfRange {
        /// The object's name.
        object: String,
        /// The offending index.
        index: i64,
        /// How many values it may take.
        extent: i64,
    },
    /// The wrong number of indices or coordinates.
    #[error("`{name}` takes {expected} indices, not {found}")]
    Arity {
        /// The object's, pattern's or role's name.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// An operation that does not exist on this kind of object.
    #[error("`{0}` is not an object of the kind this operation needs")]
    WrongKind(String),
    /// A semaphore is given a negative amount.
    #[error("amount {0}: a semaphore is never decreased by adding")]
    NegativeAmount(i64),
    /// An mbarrier with no arrivals to wait for, or an arrive that arrives nothing.
    #[error("arrival count {0}: it must be at least 1")]
    ArrivalCount(i64),
    /// A thread count that is not a positive multiple of the warp size.
    #[error("thread count {0}: it must be a positive multiple of 32")]
    ThreadCount(i64),
    /// A negative number of bytes.
    #[error("{0} bytes: an mbarrier expects and gets 0 or more")]
    ByteCount(i64),
    /// A wait for groups of asynchronous work that allows a negative number of them to remain.
    #[error("{0} groups: `wait_group` leaves 0 or more of them")]
    GroupCount(i64),
    /// A pool of negative capacity, or a negative amount taken from a pool or given back.
    #[error("amount {0}: a pool has, gives and takes 0 or more")]
    PoolAmount(i64),
    /// A residency limit that lets no CTA run at all.
    #[error("{0} resident CTAs: at least one must be resident")]
    Resident(i64),
    /// More or fewer values for the parameters than the protocol has parameters.
    #[error("the input gives {found} parameter values, the protocol has {expected}")]
    ParamCount {
        /// Declared parameters.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A parameter outside its declared values.
    #[error("parameter {name} = {value} is outside its domain")]
    OutsideDomain {
        /// The parameter's name.
        name: String,
        /// The offending value.
        value: i64,
    },
    /// The parameters do not satisfy an assumption.
    #[error("the parameters violate the assumption `{0}`")]
    AssumptionViolated(String),
    /// The input gives entries for a number of patterns that the protocol does not have.
    #[error("the input gives {found} patterns, the protocol has {expected}")]
    PatternCount {
        /// Declared patterns.
        expected: usize,
        /// Patterns given.
        found: usize,
    },
    /// An entry outside a pattern's extents.
    #[error("pattern `{pattern}` has no entry {entry:?}: outside its extents")]
    EntryOutOfRange {
        /// The pattern's name.
        pattern: String,
        /// The offending entry.
        entry: Vec<i64>,
    },
    /// Entries given for a pattern that the protocol defines.
    #[error("pattern `{0}` is defined by the protocol and takes no entries")]
    EntriesOfDefined(String),
    /// A row order that is not an order of that row.
    #[error("{given:?} is not an order of the row {row:?}")]
    BadOrder {
        /// The row's entries, ascending.
        row: Vec<i64>,
        /// What the input lists.
        given: Vec<i64>,
    },
    /// An initial value for something that takes none, or a negative one.
    #[error("the input gives `{object}`{index:?} the start value {value}, which it cannot have")]
    BadInitial {
        /// The object's name, or its position when there is no such object.
        object: String,
        /// The element.
        index: Vec<i64>,
        /// The offending value.
        value: i64,
    },
    /// A construct that this version does not follow after a role has used the result of an atomic operation.
    #[error("where a role goes on with the result of an atomic operation, {0} is not followed yet")]
    BehindResult(&'static str),
    /// The instance is larger than the caller allows.
    #[error("more than {limit} {what} are needed")]
    TooLarge {
        /// What is counted: `operations`, `members`, `cells`, ...
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The time limit ended first.
    #[error("there is no time left for it")]
    OutOfTime,
}

impl Fault {
    /// Whether the fault is a limit of the caller or of this implementation, so that nothing is wrong with the
    /// protocol or the input. An overflow is such a limit, because the integers of the language are unbounded.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Fault::Overflow | Fault::TooLarge { .. } | Fault::OutOfTime
        )
    }

    /// Checks the time limit once in every `MANY` calls, for a count that goes up by one with each call.
    pub(super) fn in_time(count: u64) -> Result<(), Fault> {
        const MANY: u64 = 1 << 14;
        match count.is_multiple_of(MANY) && deadline::over() {
            true => Err(Fault::OutOfTime),
            false => Ok(()),
        }
    }
}
