//! Memory orders, scopes and places. The visibility of data depends on them.

use super::Expr;

/// How far an operation's effect on memory reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The threads of one CTA.
    Cta,
    /// Those of one cluster.
    Cluster,
    /// Those of one GPU.
    Gpu,
    /// All of them.
    Sys,
}

impl Scope {
    /// Every scope, from the narrowest.
    pub const ALL: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        }
    }
}

/// Which accesses of its own thread an operation orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryOrder {
    /// None.
    Relaxed,
    /// Those after it.
    Acquire,
    /// Those before it.
    Release,
    /// Both.
    AcquireRelease,
}

impl MemoryOrder {
    /// Every order.
    pub const ALL: [MemoryOrder; 4] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcquireRelease => "acq_rel",
        }
    }

    /// Whether it orders what comes after it.
    pub fn acquires(self) -> bool {
        matches!(self, MemoryOrder::Acquire | MemoryOrder::AcquireRelease)
    }

    /// Whether it orders what comes before it.
    pub fn releases(self) -> bool {
        matches!(self, MemoryOrder::Release | MemoryOrder::AcquireRelease)
    }
}

/// Memory order and scope of a statement. A part that the text does not state has the default of its kind of
/// statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Qualifiers {
    /// The order.
    pub order: Option<MemoryOrder>,
    /// The scope.
    pub scope: Option<Scope>,
}

/// A statement that orders memory and does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Between the generic and the async proxy.
    ProxyAsync,
    /// Between threads.
    Threads(MemoryOrder, Scope),
}

/// Where the members of a role run, over parameters and the role's indices. If the text does not state a part, all
/// members of roles have the same one. However, each member of a grid then has a cluster and a CTA of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place {
    /// Which CTA of the cluster.
    pub cta: Option<Expr>,
    /// Which cluster of the GPU.
    pub cluster: Option<Expr>,
    /// Which GPU.
    pub gpu: Option<Expr>,
}
