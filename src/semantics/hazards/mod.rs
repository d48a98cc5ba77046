//! Defines the properties besides deadlock, at concrete values.
//!
//! **Generations.** An arrival, registration, expectation or delivery belongs to a generation of its element. The
//! number of this generation is 1 + the number of completions of the element before it. So a registration that is
//! left over at the end of a run belongs to a generation that never completes. An operation on an mbarrier before its
//! initialisation belongs to no generation.
//!
//! | property | violated by |
//! |---|---|
//! | `early_completion` | two runs in which one operation takes part in different generations |
//! | `early_pass` | two runs in which one wait by parity passes after different numbers of completions: one of them passed on a stale phase |
//! | `lapped_wait` | a run in which a member stands before a wait by parity or for `== v` that could pass and now cannot; or in which the counter has passed `v` and is never set |
//! | `over_arrival` | a run with an arrival too many, or another thread count than the open generation's; or in which a member arrives at a split-phase barrier twice, or waits there without having arrived |
//! | `tx_mismatch` | a run with a delivery that completes a phase with a part of its bytes; or a run at whose end an mbarrier has bytes outstanding, or too many, and no member is left that would make up for it |
//! | `uninitialized` | a run that comes to the use of an mbarrier that is not initialised, or initialises one twice; or a state in which a member of another CTA is about to use an mbarrier whose CTA has exited, see [`Exits`] |
//! | `race` | a reachable state in which two accesses to one slot by different actors are both next or under way, and one of them is a write, see [`super::data`] |
//! | `stale_read` | a run that comes to a read which does not see the last write that is ordered before it, see [`visibility`] |
//! | `assertion` | a state in which an `invariant`, or an `assert` that a member has come to, does not hold |
//! | `resources` | a run that gives more back to a pool than was taken, or comes to an `acquire` of more than the pool ever has; data that is used without the room it needs, or a pool that has to be whole at the end and is not, see [`Lifetimes`] |
//!
//! A violation by two runs compares one operation in both runs, and each run ends with this operation. Any other
//! violation is shown by one run. This run ends with the action that shows the violation, or in the state that shows
//! it. [`judge`] decides whether a counterexample is one. [`search`] looks for violations in all runs at one input.
//!
//! These properties ignore deadlocks: an operation that is executed in one run and never reached in another one
//! violates none of them.

mod claims;
mod exits;
mod judge;
mod lifetimes;
mod monitor;
mod race;
pub mod search;
mod stale;
mod state_monitor;
pub mod visibility;

use crate::protocol::Object;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::StmtId;
use crate::semantics::data;
use crate::semantics::data::Data;
use crate::semantics::data::Share;
use crate::semantics::error::RunError;
use crate::semantics::input::Input;
use crate::semantics::unfold::Limits;

use super::instance::CellId;
use super::step::Violation;

pub use claims::Claims;
pub use exits::Exits;
pub use judge::Judged;
pub use judge::judge;
pub use lifetimes::Lifetimes;
pub use monitor::Before;
pub use monitor::Monitor;
pub use monitor::Participation;
pub use monitor::participation;
pub use race::Races;
pub use state_monitor::StateMonitor;
pub use visibility::Lost;
pub use visibility::Visibility;

/// A violation of a property other than deadlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// One operation in two generations, or one wait passing in two phases.
    Deviation {
        /// The member.
        member: usize,
        /// Which of its operations, from 0.
        op: u32,
        /// The element.
        cell: CellId,
        /// The generation, or the number of completions before a wait, in the two runs.
        counts: (u32, u32),
    },
    /// A wait that could pass and now cannot, or a wait for a value that the counter has passed.
    Lapped {
        /// The member that stands before it.
        member: usize,
        /// Which of its operations, from 0.
        op: u32,
    },
    /// An undefined operation, the last action of the run.
    Undefined(Violation),
    /// A delivery of which a part completes a phase, the last action of the run.
    Surplus {
        /// The member that delivers.
        member: usize,
        /// The statement.
        stmt: StmtId,
        /// The mbarrier.
        cell: CellId,
        /// How many bytes are delivered.
        bytes: i64,
        /// How many of them are missing.
        missing: i64,
    },
    /// An mbarrier with an unbalanced byte count at the end of the run.
    Unbalanced {
        /// The mbarrier.
        cell: CellId,
        /// Bytes expected and not delivered; negative where more were delivered.
        bytes: i64,
    },
    /// A member that comes to the use of an mbarrier that is not initialised.
    Unready {
        /// The member.
        member: usize,
        /// The statement.
        stmt: StmtId,
        /// The element.
        cell: CellId,
    },
    /// An `acquire` of more than the capacity of the pool.
    TooMuch {
        /// The member.
        member: usize,
        /// Which of its operations, from 0.
        op: u32,
        /// How much is asked for.
        amount: i64,
        /// How much there is.
        capacity: i64,
    },
    /// A pool from which something is missing at the end.
    Kept {
        /// The pool.
        cell: CellId,
        /// How much is missing.
        amount: i64,
    },
    /// Data that gets room twice, or loses room it does not have.
    Misplaced {
        /// The slot.
        slot: u32,
        /// Whether it gets room twice.
        twice: bool,
    },
    /// An access to data that has no room.
    Roomless {
        /// The member and which of its accesses, from 0.
        access: (usize, usize),
        /// The slot.
        slot: u32,
        /// Whether it had room before.
        ended: bool,
    },
    /// A use of a barrier of another CTA that has exited.
    Exited {
        /// The member.
        member: usize,
        /// The statement.
        stmt: StmtId,
        /// The element.
        cell: CellId,
    },
    /// Two accesses at once.
    Race {
        /// One: the member and which of its accesses, from 0.
        first: (usize, usize),
        /// The other.
        second: (usize, usize),
        /// The slot.
        slot: u32,
    },
    /// A claim of the text that does not hold of the last state.
    Broken {
        /// Its number among the claims of the data.
        claim: usize,
    },
    /// A claim about runs that fails for this run, because nobody can go on.
    Stopped {
        /// Its number among the claims about runs.
        claim: usize,
    },
    /// A read that does not see a write before it.
    Stale {
        /// The write: the member and which of its accesses, from 0.
        write: (usize, usize),
        /// The read.
        read: (usize, usize),
        /// The slot.
        slot: u32,
        /// Whether only a proxy fence is missing.
        proxy: bool,
        /// The pair of operations at which the knowledge of the write was lost, if it was looked for and found.
        lost: Option<Lost>,
    },
}

/// The share of the data that the property needs, or none if the property is about operations only. Other data need
/// not be defined.
pub fn share(protocol: &Protocol, property: Property) -> Option<Share> {
    match property {
        Property::Race | Property::StaleRead => Some(Share::Accesses),
        Property::Assertion => Some(Share::Claims),
        Property::Resources => {
            let returned = |o: &Object| matches!(o.kind, ObjectKind::Pool { returned: true, .. });
            let backed = protocol.buffers.iter().any(|b| b.backed);
            (backed || protocol.objects.iter().any(returned)).then_some(Share::Accesses)
        }
        Property::Uninitialized => {
            let mut objects = protocol.objects.iter();
            objects.any(|o| o.home.is_some()).then_some(Share::Homes)
        }
        Property::Deadlock
        | Property::EarlyCompletion
        | Property::EarlyPass
        | Property::LappedWait
        | Property::OverArrival
        | Property::TxMismatch => None,
    }
}

/// Whether the property needs any data besides the operations.
pub fn wants_data(protocol: &Protocol, property: Property) -> bool {
    share(protocol, property).is_some()
}

/// Why a property is not decided for a protocol in which a role uses the result of an atomic operation; none if the
/// property is decided. Such a program has no single order of its operations, and some properties depend on this
/// order. The program also has operations on paths that no run takes. So the program alone does not say which
/// semaphores are never set.
pub fn unfollowed(protocol: &Protocol, property: Property) -> Option<&'static str> {
    protocol.result()?;
    let followed = match property {
        Property::Deadlock | Property::OverArrival | Property::Race => true,
        Property::LappedWait if protocol.lowers_awaited_by_result() => {
            return Some(
                "this property is not followed yet where a role that goes on with the result of an atomic operation may \
                 set back a semaphore for whose exact value somebody waits",
            );
        }
        Property::LappedWait => true,
        Property::Resources | Property::Uninitialized => !wants_data(protocol, property),
        Property::EarlyCompletion
        | Property::EarlyPass
        | Property::TxMismatch
        | Property::StaleRead
        | Property::Assertion => false,
    };
    (!followed).then_some(
        "this property is not followed yet where a role goes on with the result of an atomic operation",
    )
}

/// Why nothing can be said about a property, if the text omits information that the property depends on.
pub fn left_out(protocol: &Protocol, property: Property) -> Option<&'static str> {
    let open = property == Property::StaleRead && protocol.buffers.iter().any(|b| b.unordered);
    open.then_some(
        "the text leaves out the fences, orders and scopes that decide this (`orders: unknown`)",
    )
}

/// The share of an instance's data that the property needs, if it needs any.
///
/// # Errors
///
/// The input does not run, or something in that share has no value, such as an access outside its buffer.
pub fn wanted_data(
    protocol: &Protocol,
    property: Property,
    input: &Input,
    limits: &Limits,
) -> Result<Option<Data>, RunError> {
    let share = share(protocol, property);
    share
        .map(|share| data::data(protocol, input, limits, share))
        .transpose()
}

/// Whether a violation of the property consists of two runs.
pub fn takes_two_runs(property: Property) -> bool {
    matches!(property, Property::EarlyCompletion | Property::EarlyPass)
}
