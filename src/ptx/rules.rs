//! The lint rules for kernels: the subject of each, and the section of the PTX ISA that it is based on.
//!
//! Sections are cited by their titles, since their numbers change from version to version.

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as `arrival-count`.
    pub id: &'static str,
    /// The section of the PTX ISA.
    pub section: &'static str,
    /// What it is about, in sentences.
    pub text: &'static str,
}

/// Every rule.
pub const RULES: &[Rule] = &[
    Rule {
        id: "init-in-role",
        section: "mbarrier.init",
        text: "An mbarrier is initialised in a branch, or after the first barrier of all threads. Whoever uses it
must come after the initialisation, and only a barrier in between makes sure of that.",
    },
    Rule {
        id: "use-before-barrier",
        section: "mbarrier.init",
        text: "An mbarrier is used before a barrier of all threads that follows its initialisation. Another thread
may then wait on, or arrive at, memory that is no mbarrier yet.",
    },
    Rule {
        id: "never-initialised",
        section: "mbarrier.init",
        text: "An mbarrier is used and never initialised. Every other operation on it is undefined then.",
    },
    Rule {
        id: "cta-barrier-in-role",
        section: "bar, barrier",
        text: "Not every warp comes equally often to a barrier of all threads. Such a barrier waits for all of
them, also for those that have left the branch or the loop.",
    },
    Rule {
        id: "arrival-count",
        section: "mbarrier.init; for named barriers: bar, barrier",
        text: "A barrier counts other than those who come to it. With a count too high the phase never completes;
with one too low it completes before everybody has come.",
    },
    Rule {
        id: "trip-counts",
        section: "Phase of the mbarrier object",
        text: "The loops of those who wait and of those who arrive do not run equally often, other than by what is
free at the beginning. Somebody waits for a phase that nobody completes, or a phase is never waited for.",
    },
    Rule {
        id: "commit-by-warp",
        section: "tcgen05.commit",
        text: "More than one lane commits tensor-core work. Each commit is an arrival of its own, so the mbarrier
gets more than one for the same work.",
    },
    Rule {
        id: "dealloc-without-barrier",
        section: "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit",
        text: "Tensor memory is freed with no barrier behind its use. Another warp may still read or write it.",
    },
    Rule {
        id: "early-read",
        section: "griddepcontrol",
        text: "Global memory may be read here before `griddepcontrol.wait`. A programmatic dependent launch may begin before the
preceding grid has ended. What that grid writes is certainly there only behind the wait, for the thread that executes it and
those that meet it at a barrier afterwards. A read before is right if no preceding grid writes that memory.",
    },
    Rule {
        id: "not-together",
        section: "the `.aligned` forms: wgmma, setmaxnreg, tcgen05, barrier",
        text: "Lanes of a warp, or warps of a warpgroup, are missing where all have to carry an instruction out
together. What happens then is undefined.",
    },
    Rule {
        id: "barrier-id",
        section: "bar, barrier",
        text: "A named barrier has a number above 15. A CTA has 16 of them.",
    },
    Rule {
        id: "barrier-count",
        section: "bar, barrier",
        text: "The thread count of a named barrier is no multiple of 32. Warps come to it as a whole.",
    },
];

/// A rule by its name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
