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
    /// For each pattern: the coordinates at which it holds, sorted. The set is empty for a pattern that the protocol
    /// defines itself; such a pattern is computed.
    pub patterns: Vec<BTreeSet<Vec<i64>>>,
    /// The order in which rows are visited, if the protocol leaves the order open. A loop or row that is not listed
    /// is visited in ascending order.
    pub orders: BTreeMap<OrderKey, Vec<i64>>,
    /// The start values of semaphores that are declared `= any`, by object position and index. An element that is not
    /// listed starts with 0.
    pub initial: BTreeMap<(usize, Vec<i64>), i64>,
}

/// Names the row or loop whose order an entry of [`Input::orders`] gives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderKey {
    /// A row that the loops visit in the order of the input: the pattern's position and the fixed coordinates.
    Row {
        /// Position of the pattern.
        pattern: usize,
        /// The fixed coordinates.
        row: Vec<i64>,
    },
    /// One run of a loop that visits its row in any order. It is identified by the loop's statement number, the
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
