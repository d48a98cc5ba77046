//! A concrete input: everything that has to be fixed before a protocol can run.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::Serialize;

/// One concrete choice for everything a verdict quantifies over, except the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Input {
    /// The value of each parameter, in declaration order.
    pub params: Vec<i64>,
    /// For each pattern, the coordinates at which it holds, sorted. A pattern that the
    /// protocol defines itself has an empty set here and is computed.
    pub patterns: Vec<BTreeSet<Vec<i64>>>,
    /// The order in which rows are visited where the protocol leaves it open. A loop or row
    /// that is not listed is visited in ascending order.
    pub orders: BTreeMap<OrderKey, Vec<i64>>,
    /// The value at the start of semaphores declared `= any`, by object position and index;
    /// 0 where not listed.
    pub initial: BTreeMap<(usize, Vec<i64>), i64>,
}

/// What an entry of [`Input::orders`] is the order of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderKey {
    /// A row that loops visit as given: pattern position and the fixed coordinates.
    Row {
        /// Position of the pattern.
        pattern: usize,
        /// The fixed coordinates.
        row: Vec<i64>,
    },
    /// One run of a loop that visits its row in any order: the loop's statement number, the
    /// role's position and index values, and how often this member has run the loop before.
    Loop {
        /// Statement number of the loop.
        stmt: usize,
        /// Position of the role.
        role: usize,
        /// Index values of the member.
        member: Vec<i64>,
        /// Number of earlier runs of this loop by this member.
        run: usize,
    },
}
