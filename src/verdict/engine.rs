//! The names of engines, as in the last line of a finding. For a proof it is the name of its checker:
//! [`crate::certificate::argument::CHECKERS`].

/// Runs that are meant to do harm, at small values.
pub const SCHEDULES: &str = "adversarial schedules";
/// The same, with members that do the same moved together.
pub const ACCELERATED: &str = "accelerated search of the counter system";
/// Every state, at some values.
pub const EXHAUSTIVE: &str = "explicit search";
/// Runs in which one member is held up.
pub const HELD: &str = "runs with somebody held";
/// One formula for all runs within a limit.
pub const EVENTS: &str = "event encoding";
/// The same for patterns of one kind.
pub const RESTRICTED_EVENTS: &str = "restricted event encoding";
/// The same, without a violation.
pub const BOUNDED: &str = "bounded search";
/// A run at values at which a proof failed.
pub const SUSPICION: &str = "a suspicion of the proof search";
/// Runs that end in a state that was seen.
pub const OBSERVED: &str = "search for the state that was seen";

/// All of them.
pub const ALL: [&str; 9] = [
    SCHEDULES,
    ACCELERATED,
    EXHAUSTIVE,
    HELD,
    EVENTS,
    RESTRICTED_EVENTS,
    BOUNDED,
    SUSPICION,
    OBSERVED,
];
