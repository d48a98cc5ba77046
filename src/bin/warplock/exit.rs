//! Exit codes. They are part of the interface for scripts.

use warplock::report::Word;

/// Every property is proved, or the command did what it was asked to.
pub const SUCCESS: u8 = 0;
/// At least one property is refuted, or an expectation is not met.
pub const REFUTED: u8 = 1;
/// A mistake in the command line or in a file, or a file that cannot be read or written.
pub const INPUT: u8 = 2;
/// At least one property is bounded, none is refuted or unknown.
pub const BOUNDED: u8 = 3;
/// At least one property is unknown, none is refuted.
pub const UNKNOWN: u8 = 4;
/// An error of this program, a failed replay, a certificate that is not accepted, a Z3 that is
/// too old.
pub const INTERNAL: u8 = 101;
/// Interrupted by a signal.
pub const INTERRUPTED: u8 = 130;

/// How the program ends. Better ends compare as less than worse ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// See [`SUCCESS`].
    Success,
    /// See [`BOUNDED`].
    Bounded,
    /// See [`UNKNOWN`].
    Unknown,
    /// See [`REFUTED`].
    Refuted,
    /// See [`INPUT`].
    Input,
    /// See [`INTERNAL`].
    Internal,
    /// See [`INTERRUPTED`].
    Interrupted,
}

impl From<Word> for Exit {
    fn from(word: Word) -> Exit {
        match word {
            Word::Proved => Exit::Success,
            Word::Bounded => Exit::Bounded,
            Word::Unknown => Exit::Unknown,
            Word::Refuted => Exit::Refuted,
        }
    }
}

impl Exit {
    /// Every end, from the best to the worst.
    pub const ALL: [Exit; 7] = [
        Exit::Success,
        Exit::Bounded,
        Exit::Unknown,
        Exit::Refuted,
        Exit::Input,
        Exit::Internal,
        Exit::Interrupted,
    ];

    /// The meaning of the exit code, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "every property is proved; for other commands: done",
            Exit::Bounded => "at least one property is bounded, none is refuted or unknown",
            Exit::Unknown => "at least one property is unknown, none is refuted",
            Exit::Refuted => "at least one property is refuted, or an expectation is not met",
            Exit::Input => {
                "a mistake on the command line or in a file, or unreadable or unwritable"
            }
            Exit::Internal => "an error of this program, a failed replay, a refused certificate",
            Exit::Interrupted => "interrupted by a signal",
        }
    }

    /// The code.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => SUCCESS,
            Exit::Bounded => BOUNDED,
            Exit::Unknown => UNKNOWN,
            Exit::Refuted => REFUTED,
            Exit::Input => INPUT,
            Exit::Internal => INTERNAL,
            Exit::Interrupted => INTERRUPTED,
        }
    }
}
