//! Parts that several kinds of statements have in common.

use super::Cell;
use super::StmtKind;

impl StmtKind {
    /// The element that the statement does something to.
    pub fn cell(&self) -> Option<&Cell> {
        match self {
            StmtKind::Wait { cell, .. }
            | StmtKind::Add { cell, .. }
            | StmtKind::Set { cell, .. }
            | StmtKind::Atomic { cell, .. }
            | StmtKind::WaitSwap { cell, .. }
            | StmtKind::Arrive { cell, .. }
            | StmtKind::WaitParity { cell, .. }
            | StmtKind::Sync { cell, .. }
            | StmtKind::BarArrive { cell, .. }
            | StmtKind::ExpectTx { cell, .. }
            | StmtKind::CompleteTx { cell, .. }
            | StmtKind::Copy { cell, .. }
            | StmtKind::Commit { cell }
            | StmtKind::Init { cell }
            | StmtKind::BarrierArrive { cell }
            | StmtKind::BarrierWait { cell }
            | StmtKind::Acquire { cell, .. }
            | StmtKind::Release { cell, .. } => Some(cell),
            StmtKind::Access { .. }
            | StmtKind::If { .. }
            | StmtKind::For { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Return
            | StmtKind::Break => None,
        }
    }
}
