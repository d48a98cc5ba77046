//! One operation of a thread.

use crate::ir::AtomicOperation;
use crate::ir::Compute;
use crate::ir::Location;
use crate::ir::MemoryOrder;
use crate::ir::RegisterId;
use crate::ir::Scope;
use crate::ir::Space;
use crate::ir::Stability;
use crate::ir::Synchronization;
use crate::ir::VariableId;
use crate::ir::Write;

/// What an operation reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    Register(RegisterId),
    /// A constant. It is cut to the width that the operation asks for.
    Constant(u128),
}

/// A predicate register that decides whether an operation is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    pub predicate: RegisterId,
    /// Whether the operation is executed if the predicate does not hold.
    pub negated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub guard: Option<Guard>,
    pub kind: OperationKind,
    pub location: Location,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationKind {
    /// A pure function of integers and predicates.
    Compute {
        compute: Compute,
        /// In bits, of the main operands.
        width: u16,
        result: RegisterId,
        operands: Vec<Operand>,
    },
    /// A number that the machine provides.
    Special {
        result: RegisterId,
        special: Special,
    },
    /// The address of a variable: in its space, or as a generic address if `generic`.
    AddressOf {
        result: RegisterId,
        variable: VariableId,
        generic: bool,
    },
    /// `cvta`: converts an address of a space to a generic one, or back.
    ConvertAddress {
        result: RegisterId,
        address: Operand,
        space: Space,
        to_generic: bool,
    },
    /// `mapa`: the address of the same place in the shared memory of another CTA of the cluster.
    MapAddress {
        result: RegisterId,
        address: Operand,
        /// The rank of the CTA in the cluster.
        rank: Operand,
        /// Whether the address and the result are generic addresses, and not addresses of the shared window.
        generic: bool,
    },
    /// `getctarank`: the rank in the cluster of the CTA in whose shared memory an address lies.
    CtaRank {
        result: RegisterId,
        address: Operand,
        generic: bool,
    },
    /// Reads `results.len()` values of `width` bits that are adjacent in memory. If a result register is wider, the
    /// value is extended by zeros or, if `signed`, by the sign. A result `None` is not stored.
    Load {
        results: Vec<Option<RegisterId>>,
        space: Space,
        address: Operand,
        width: u16,
        signed: bool,
        order: MemoryOrder,
        scope: Scope,
        stability: Stability,
    },
    Store {
        space: Space,
        address: Operand,
        /// The values, of `width` bits each, adjacent in memory.
        values: Vec<Operand>,
        width: u16,
        order: MemoryOrder,
        scope: Scope,
    },
    Atomic {
        operation: AtomicOperation,
        /// The register for the previous value, if it is stored.
        result: Option<RegisterId>,
        space: Space,
        address: Operand,
        operands: Vec<Operand>,
        width: u16,
        order: MemoryOrder,
        scope: Scope,
    },
    /// An operation that takes part in synchronization, or that ties the lanes of a warp together.
    Synchronization(Synchronization),
    /// An operation whose results are unknown, such as one on floating-point numbers. If it is `pure`, equal operands
    /// give equal results. It does not synchronize, and it writes only the memory that `write` names.
    Opaque {
        mnemonic: String,
        results: Vec<RegisterId>,
        operands: Vec<Operand>,
        pure: bool,
        write: Option<Write>,
        /// Rows of matrices in memory that all lanes of the warp read or write together.
        rows: Option<Rows>,
    },
    /// An operation that is not understood. It may synchronize, or write anywhere.
    Unsupported {
        mnemonic: String,
        reason: String,
        results: Vec<RegisterId>,
    },
}

/// Rows of 16 bytes, as for `ldmatrix` and `stmatrix`. Each of the lowest lanes gives the address of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rows {
    pub space: Space,
    pub address: Operand,
    /// How many lanes name a row.
    pub count: u32,
    pub writes: bool,
}

/// Numbers that the machine provides. Axes are 0, 1, 2 for x, y, z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Special {
    ThreadIndex(u8),
    CtaThreads(u8),
    CtaIndex(u8),
    GridCtas(u8),
    ClusterIndex(u8),
    GridClusters(u8),
    ClusterCtaIndex(u8),
    ClusterCtas(u8),
    ClusterCtaRank,
    ClusterCtaCount,
    Lane,
    /// A number that no other warp of the CTA has. No manual says that it is the thread's number divided by 32.
    Warp,
    WarpCount,
    LaneMaskEqual,
    LaneMaskLess,
    LaneMaskLessEqual,
    LaneMaskGreater,
    LaneMaskGreaterEqual,
    DynamicSharedSize,
    TotalSharedSize,
    /// A clock or timer. It has another value at every read.
    Clock,
    /// Other numbers, such as those of the multiprocessor or the grid: any value.
    Other,
}

impl Special {
    /// Whether it is a place or a count of the launch that all threads of a CTA have alike. These are below 2^31.
    pub fn is_of_cta(&self) -> bool {
        matches!(
            self,
            Self::CtaThreads(_)
                | Self::CtaIndex(_)
                | Self::GridCtas(_)
                | Self::ClusterIndex(_)
                | Self::GridClusters(_)
                | Self::ClusterCtaIndex(_)
                | Self::ClusterCtas(_)
                | Self::ClusterCtaRank
                | Self::ClusterCtaCount
        )
    }
}
