//! Memory spaces, orders, scopes and atomic operations.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Kernel parameters.
    Parameter,
    Constant,
    Global,
    /// Shared memory of the own CTA.
    Shared,
    /// Shared memory of any CTA of the cluster; addresses name the CTA.
    Cluster,
    /// Memory of one thread.
    Local,
    /// The instruction does not name the space. The address decides.
    Generic,
    /// Tensor memory.
    Tensor,
}

impl Space {
    /// Whether an address of this space may be one of shared memory.
    pub fn may_be_shared(self) -> bool {
        matches!(self, Self::Shared | Self::Cluster | Self::Generic)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemoryOrder {
    #[default]
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

/// Whether other threads may write what a load reads, as far as the load states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stability {
    #[default]
    Unsaid,
    /// No thread writes it while the kernel runs, as `.nc` promises.
    Constant,
    /// It is fetched again each time, as with `.cv`. In the memory model, such a load is weak.
    Refetched,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    #[default]
    Cta,
    Cluster,
    Gpu,
    System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtomicOperation {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    /// Operands: the value compared with, the new value.
    CompareAndSwap,
    Minimum {
        signed: bool,
    },
    Maximum {
        signed: bool,
    },
    /// Counts up to a limit, then continues with 0.
    Increment,
    /// Counts down to 0, then continues with the limit.
    Decrement,
    /// On floating-point or packed numbers.
    Other,
}
