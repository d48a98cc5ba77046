//! The properties for which a protocol can be checked.

use serde::Serialize;

/// A property a protocol can be checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// No reachable state in which nobody can step and not everybody has finished.
    Deadlock,
    /// No phase completes with an arrival missing that belonged to it.
    EarlyCompletion,
    /// No parity wait returns on a phase that is not the one it is meant for.
    EarlyPass,
    /// No parity wait whose barrier moved on by two phases; no `==` wait that was overshot.
    LappedWait,
    /// No generation takes more arrivals than it expects.
    OverArrival,
    /// Expected and delivered transaction bytes agree.
    TxMismatch,
    /// Nothing is used before its initialization is visible.
    Uninitialized,
    /// No two unordered accesses to one slot, one of them a write.
    Race,
    /// Every read sees the write it is meant to see.
    StaleRead,
    /// Pools of registers and tensor memory suffice.
    Resources,
    /// What the text claims of states.
    Assertion,
}

impl Property {
    /// Every property, in the order of the command contract.
    pub const ALL: [Property; 11] = [
        Property::Deadlock,
        Property::EarlyCompletion,
        Property::EarlyPass,
        Property::LappedWait,
        Property::OverArrival,
        Property::TxMismatch,
        Property::Uninitialized,
        Property::Race,
        Property::StaleRead,
        Property::Resources,
        Property::Assertion,
    ];

    /// The name used in files, options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Property::Deadlock => "deadlock",
            Property::EarlyCompletion => "early_completion",
            Property::EarlyPass => "early_pass",
            Property::LappedWait => "lapped_wait",
            Property::OverArrival => "over_arrival",
            Property::TxMismatch => "tx_mismatch",
            Property::Uninitialized => "uninitialized",
            Property::Race => "race",
            Property::StaleRead => "stale_read",
            Property::Resources => "resources",
            Property::Assertion => "assertion",
        }
    }

    /// The property as a sentence.
    pub fn description(self) -> &'static str {
        match self {
            Property::Deadlock => "No reachable state in which nobody can go on.",
            Property::EarlyCompletion => {
                "No phase completes without an arrival that belongs to it."
            }
            Property::EarlyPass => "No wait by parity passes on a stale phase.",
            Property::LappedWait => "No wait whose barrier or counter has moved on past it.",
            Property::OverArrival => "No generation takes more arrivals than it expects.",
            Property::TxMismatch => "Expected and delivered transaction bytes agree.",
            Property::Uninitialized => "Nothing is used before its initialization is visible.",
            Property::Race => "No two unordered accesses to one slot, one of them a write.",
            Property::StaleRead => "Every read sees the write it is meant to see.",
            Property::Resources => "Pools of registers and tensor memory suffice.",
            Property::Assertion => {
                "Every assertion holds at its point, and every invariant always."
            }
        }
    }

    /// The property of that name.
    pub fn from_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|p| p.name() == name)
    }
}
