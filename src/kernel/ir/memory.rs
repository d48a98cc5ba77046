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
    /// Not said by the instruction; the address decides.
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

/// What a load says of whether others write what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stability {
    #[default]
    Unsaid,
    /// Nobody writes it while the kernel runs, as `.nc` promises.
    Constant,
    /// It is fetched again each time, as by `.cv`. In the memory model such a load is weak.
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
    /// Up to a limit, then 0.
    Increment,
    /// Down to 0, then the limit.
    Decrement,
    /// On floating-point or packed numbers.
    Other,
}
