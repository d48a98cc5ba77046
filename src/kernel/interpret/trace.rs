//! Traces: the results of a run.

use super::address::Layout;
use super::event::Event;
use super::event::Object;
use super::event::Place;
use super::event::Region;
use super::taint::Origins;
use super::taint::Sets;
use super::value::Lanes;
use crate::ir::Location;

/// The events of all warps of a CTA or cluster.
#[derive(Debug, Clone)]
pub struct Trace {
    /// By rank in the cluster.
    pub ctas: Vec<CtaTrace>,
    pub outcome: Outcome,
    pub layout: Layout,
    /// How many operations the warps executed.
    pub steps: u64,
    pub(super) sets: Sets,
}

#[derive(Debug, Clone, Default)]
pub struct CtaTrace {
    pub warps: Vec<WarpTrace>,
}

#[derive(Debug, Clone, Default)]
pub struct WarpTrace {
    pub events: Vec<Event>,
    /// The bytes of its accesses. Events refer to them by their positions here.
    pub regions: Vec<Region>,
    /// The lanes that ran to an exit.
    pub exited: Lanes,
    /// Branches and guards that depend on unknown values and on which events or exits depend.
    pub decisions: Vec<Decision>,
    pub steps: u64,
}

/// A branch or guard that depends on an unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub place: Place,
    pub reasons: Origins,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every lane came to an exit.
    Finished,
    /// No lane can go on.
    Stuck(Vec<Waiting>),
    /// The kernel aborts.
    Trap { place: Place },
    /// The run executed something that is undefined. It ends there.
    Undefined { place: Place, what: String },
}

/// Lanes that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub cta: u32,
    pub warp: u32,
    pub lanes: Lanes,
    pub place: Place,
    pub for_what: Awaited,
}

/// What these lanes wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The completion of a phase of an mbarrier.
    Mbarrier {
        object: Object,
        parity: bool,
        /// What is missing in the current phase.
        arrivals: u32,
        bytes: i64,
    },
    /// Further threads at a named barrier.
    Barrier {
        barrier: u32,
        expected: Option<u32>,
        arrived: u32,
    },
    /// Further threads at the cluster barrier.
    Cluster,
    /// Other lanes of the warp.
    Lanes(Lanes),
    /// A change of memory that a spin loop polls.
    Change,
}

/// Why a run ended without a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Stop {
    pub reason: StopReason,
    /// The operation where it ended.
    pub place: Option<Place>,
    pub location: Location,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    #[error("the kernel has no blocks")]
    Empty,
    #[error("{0}")]
    Launch(String),
    #[error("more than {0} operations were executed")]
    Steps(u64),
    #[error("more than {0} events happened")]
    Events(usize),
    #[error("more than {} bytes of memory were written", 256 * super::memory::MAX_PAGES)]
    Memory,
    #[error("an operation does not exist at its widths or with its operands")]
    Malformed,
}

impl Trace {
    /// The operations that a set of reasons names.
    pub fn reasons(&self, origins: Origins) -> &[Place] {
        self.sets.get(origins)
    }

    /// Whether every event is certain, that is, no event depends on an unknown value.
    pub fn is_clean(&self) -> bool {
        let mut warps = self.ctas.iter().flat_map(|cta| &cta.warps);
        warps.all(WarpTrace::is_clean)
    }
}

impl WarpTrace {
    pub fn is_clean(&self) -> bool {
        self.decisions.is_empty() && self.events.iter().all(|event| event.reasons.is_none())
    }
}
