//! What a certificate about turns and supplies says. All of it is a suggestion: nothing holds because it stands here.

use serde::Deserialize;
use serde::Serialize;

use crate::protocol::Resident;
use crate::protocol::Role;
use crate::trusted::certificate::Sum;

/// Reasons why no wait lasts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Per role: whether all its members may be resident at once.
    pub whole: Vec<bool>,
    /// Objects at which members take turns.
    pub turns: Vec<Turns>,
    /// Of all waits, in the order of roles and of their texts.
    pub waits: Vec<Awaited>,
}

impl Events {
    /// Whether members of a role, which has this position, may not have started although others have.
    pub fn starts_late(&self, position: usize, role: &Role) -> bool {
        let launch = role.launch.as_ref();
        let limited = launch.is_some_and(|launch| launch.resident != Resident::All);
        limited && self.whole.get(position) != Some(&true)
    }
}

/// Members of a role take turns at each element of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// The object, by position.
    pub object: usize,
    /// The role, by position.
    pub role: usize,
    /// In which of its indices those who come to one element may differ, the most significant first.
    pub counted: Vec<Key>,
    /// Why turns have no gap.
    pub numbered: Numbered,
}

/// An index of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// By position.
    pub index: usize,
    /// Whether larger values come first.
    pub descending: bool,
}

/// Why turns have no gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbered {
    /// What this wait of the role waits for, by position, grows with each member that comes. Where a member does not come, it may
    /// be one less than that.
    Recurrence(usize, bool),
    /// Those who come stand next to each other, and take their turns one after the other.
    Block,
    /// All come, and no two have the same turn.
    Everybody,
}

/// Why a wait does not last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Awaited {
    /// Its rank, the most significant component first.
    pub rank: Vec<Component>,
    /// What it is for, in each of several cases. Empty where members take turns.
    pub supplies: Vec<Vec<Supply>>,
}

/// A component of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// What it is.
    pub of: Reading,
    /// Whether it is taken with the opposite sign.
    pub descending: bool,
}

/// What a rank reads off a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// A sum over parameters and the names around the wait.
    Sum(Sum),
    /// The value that is waited for, less the value at the start.
    Turn,
    /// An index of the element; 0 where it has fewer.
    Element(usize),
}

/// Additions that a wait is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supply {
    /// The role that adds.
    pub role: usize,
    /// Which of the things its members do, by position.
    pub event: usize,
    /// Which members, and at which values of the loop variables around it, the outermost first.
    pub at: Vec<Place>,
}

/// Values of an index or a loop variable, over parameters and the names around the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// This one.
    At(Sum),
    /// All from the first to below the second.
    From(Sum, Sum),
}
