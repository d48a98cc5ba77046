//! Claims of runs: `eventually done` and `always (waiting -> eventually passes)`.
//!
//! A fair run is one that ends only where nobody can go on. If every run is finite, each fair run
//! ends in such a state; where nothing gets stuck, everybody has finished there. So everybody
//! finishes in every fair run, and nobody is left waiting: whatever shows that a protocol is free of
//! deadlock shows both claims.
//!
//! *Every run is finite* is the side condition, looked at here: a member's program is finite if each
//! of its loops runs over a range of integers or over the entries of a row, and there are finitely
//! many members. A landing happens once for each operation that starts one.

use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Work;

/// Whether all that a protocol claims follows from its freedom from deadlock.
pub fn follow_from_progress(protocol: &Protocol) -> bool {
    !protocol.progress.is_empty() && !of_states(protocol) && every_run_ends(protocol)
}

/// Whether a protocol claims something of states: an assertion or an invariant.
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

/// Whether no run goes on for ever.
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

/// Whether some statement of a block, however deep, is wanted.
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
