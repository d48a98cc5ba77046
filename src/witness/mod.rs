//! Counterexamples as files, and their replay.
//!
//! A witness file contains everything that is needed to see a kernel hang: the text of the protocol, the input and
//! the schedule. No part of it is trusted. [`replay`] rebuilds the input, runs every action by the reference
//! semantics, and compares the result with what the file claims. It accepts exactly the runs that
//! [`crate::semantics::step`] accepts.

pub mod describe;
mod hazard;
mod record;
mod replay;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;

pub use describe::line;
pub use describe::shown;
pub use describe::wanted;
pub use record::record;
pub use record::record_hazard;
pub use record::record_hazard_where;
pub use record::sha256_hex;
pub use replay::ReplayError;
pub use replay::Replayed;
pub use replay::replay;

/// The version of the file format that this program writes and reads.
pub const SCHEMA: u32 = 1;

/// A counterexample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Always `warplock`.
    pub tool: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The protocol's name.
    pub protocol: String,
    /// The protocol's text.
    pub source: String,
    /// SHA-256 of the text, 64 lower case hexadecimal digits.
    pub source_sha256: String,
    /// Assumptions that were given in addition to the text, as written. They hold at the input.
    pub assumptions: Vec<String>,
    /// The violated property's name.
    pub property: String,
    /// The value of every parameter.
    #[serde(with = "serde_with::rust::maps_duplicate_key_is_error")]
    pub parameters: BTreeMap<String, i64>,
    /// The entries of every pattern that the protocol leaves open, ascending.
    #[serde(with = "serde_with::rust::maps_duplicate_key_is_error")]
    pub patterns: BTreeMap<String, Vec<Vec<i64>>>,
    /// Row orders that matter for the run. Other rows are visited in ascending order.
    pub orders: Vec<OrderEntry>,
    /// Start values that the protocol leaves open, if they are not 0.
    pub initial: Vec<StartEntry>,
    /// What happens, in order.
    pub schedule: Vec<ScheduleEntry>,
    /// The actions of the other run, if the violation is a difference between two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_schedule: Option<Vec<ScheduleEntry>>,
    /// What the runs show, if the property is not `deadlock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazard: Option<HazardEntry>,
    /// What each member that started and did not finish waits for at the end.
    pub blocked: Vec<BlockedEntry>,
    /// The names of the members that never start.
    pub unstarted: Vec<String>,
}

/// The order in which a row is visited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum OrderEntry {
    /// The order for every loop that takes the input's order.
    Row {
        /// The pattern's name.
        pattern: String,
        /// The fixed coordinates.
        row: Vec<i64>,
        /// The row's entries as visited.
        order: Vec<i64>,
    },
    /// The order for one run of one loop.
    Loop {
        /// The loop's statement number.
        statement: usize,
        /// The role's name.
        role: String,
        /// The member's index values.
        member: Vec<i64>,
        /// How often the member has run the loop before.
        run: usize,
        /// The row's entries as visited.
        order: Vec<i64>,
    },
}

/// The start value of one semaphore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartEntry {
    /// The object's name.
    pub object: String,
    /// The element.
    pub index: Vec<i64>,
    /// Its value before anything runs.
    pub value: i64,
}

/// One action of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ScheduleEntry {
    /// A member starts.
    Launch {
        /// Its number.
        launch: usize,
        /// Its name.
        member: String,
    },
    /// A member does its next operation.
    Step {
        /// Its number.
        step: usize,
        /// Its name.
        member: String,
    },
    /// An asynchronous operation of a member lands.
    Land {
        /// The member's number.
        land: usize,
        /// Its position among the operations that the member has in flight, from 0.
        position: usize,
        /// The member's name.
        member: String,
    },
}

/// What a member waits for at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockedEntry {
    /// The member's name.
    pub member: String,
    /// The number of the statement that it waits at.
    pub statement: usize,
    /// The line of the text on which this statement stands, from 1.
    pub line: usize,
    /// The object's element.
    pub object: String,
    /// What it waits for there, see [`wanted`].
    pub wants: String,
    /// The actual value, see [`shown`].
    pub value: String,
}

/// What a run, or a pair of runs, shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HazardEntry {
    /// The names of the members that the hazard is about: two for a race, otherwise one.
    pub members: Vec<String>,
    /// The numbers of their statements.
    pub statements: Vec<usize>,
    /// The lines of the text on which these statements stand, from 1.
    pub lines: Vec<usize>,
    /// The element of an object. For a race, the element of a buffer.
    pub element: String,
    /// For a difference between two runs: the generation in each run, or the number of completions before the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<(u32, u32)>,
}

impl Witness {
    /// The file's content.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads a file's content, without replaying it.
    pub fn from_json(bytes: &[u8]) -> Result<Witness, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests;
