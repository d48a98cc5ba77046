//! The lint rules that apply to protocols only. Rules that apply to kernels too are in the crate `ptx`, under the
//! same names.
//!
//! Sections of the PTX ISA are cited by title, because their numbers change from version to version.

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as `never-waited`.
    pub id: &'static str,
    /// The section of the PTX ISA.
    pub section: &'static str,
    /// What it is about, in sentences.
    pub text: &'static str,
}

/// Every rule that is about protocols alone.
pub const RULES: &[Rule] = &[
    Rule {
        id: "nobody-arrives",
        section: "mbarrier.arrive; for named barriers: bar, barrier",
        text: "Somebody waits at a barrier, and nobody arrives there: no statement does, or none is reached. The
phase never completes.",
    },
    Rule {
        id: "never-waited",
        section: "mbarrier.test_wait, mbarrier.try_wait",
        text: "Somebody arrives at a barrier, and nobody ever waits for it. Where it should hold a producer back
until a stage is free, that wait is missing. Otherwise the barrier can go.",
    },
    Rule {
        id: "own-arrival",
        section: "Phase of the mbarrier object",
        text: "A member waits for a phase that cannot complete without an arrival that the same member makes only
behind this wait. Move the arrival in front of the wait, or do not count it.",
    },
    Rule {
        id: "parity-repeats",
        section: "Phase of the mbarrier object",
        text: "A wait asks for the same parity twice in a row at the same mbarrier. Each completed phase flips the
bit, so the second wait passes at once if no phase has completed since. The parity has to follow the round: flip it
each time the index of the stage wraps around.",
    },
    Rule {
        id: "bytes",
        section: "Tracking asynchronous operations by the mbarrier object",
        text: "An mbarrier expects other bytes than are delivered to it, added up over all phases. With too many
expected a phase never completes. With too few it completes before all data are there.",
    },
    Rule {
        id: "value-out-of-reach",
        section: "atom, red; ld",
        text: "Somebody waits until a semaphore has a value that all additions together do not reach, or that it has
passed from the beginning. Compare the value with how many members add, and how much.",
    },
    Rule {
        id: "capacity",
        section: "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit; setmaxnreg",
        text: "Somebody takes more from a pool than there is of it. It never gets that, whatever the others give back.",
    },
];

/// A rule by its name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
