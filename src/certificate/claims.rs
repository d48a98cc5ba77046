//! Claims about runs: `eventually done` and `always (waiting -> eventually passes)`.
//!
//! A fair run ends only in a state where nobody can go on. If every run is finite, each fair run ends in such a
//! state. If the protocol cannot get stuck, all members have finished there. So all members finish in every fair run,
//! and none is left waiting. Hence a proof that the protocol is free of deadlock proves both claims.
//!
//! The side condition is that *every run is finite*, and it is checked here. A program is finite if each of its loops
//! runs over a range of integers or over the entries of a row. There are finitely many members. A landing happens
//! once for each operation that starts one.

use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

/// Whether all claims of a protocol follow from its freedom from deadlock.
pub fn follow_from_progress(protocol: &Protocol) -> bool {
    !protocol.progress.is_empty() && !of_states(protocol) && every_run_ends(protocol)
}

/// Whether a protocol makes claims about states: assertions or invariants.
pub fn of_states(protocol: &Protocol) -> bool {
    let asserts = |stmt: &Stmt| {
        matches!(
            stmt.kind,
            StmtKind::Access {
                work: Work::Assert(_),
                ..
            }
        )
    };
    let mut roles = protocol.roles.iter();
    !protocol.invariants.is_empty() || roles.any(|role| any(&role.body, &asserts))
}

/// Whether every run is finite.
pub fn every_run_ends(protocol: &Protocol) -> bool {
    let goes_on = |stmt: &Stmt| match &stmt.kind {
        StmtKind::For { over, .. } => match over {
            Iteration::Range { .. } | Iteration::Row { .. } => false,
        },
        _ => false,
    };
    let mut roles = protocol.roles.iter();
    !roles.any(|role| any(&role.body, &goes_on))
}

/// Whether some statement of a block, at any depth, is `wanted`.
fn any(body: &[Stmt], wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    body.iter().any(|stmt| {
        wanted(stmt)
            || match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => any(then, wanted) || any(otherwise, wanted),
                StmtKind::For { body, .. } => any(body, wanted),
                _ => false,
            }
    })
}
