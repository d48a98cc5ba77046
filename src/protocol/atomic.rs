//! Atomic operations on semaphores that read and change in one step.

use super::Expr;
use super::Protocol;
use super::Stmt;
use super::StmtKind;

/// What an atomic operation makes of a semaphore whose old value it returns.
#[derive(Debug, Clone, PartialEq)]
pub enum AtomicUpdate {
    /// Adds this, which may be negative.
    Add(Expr),
    /// Sets this.
    Exchange(Expr),
    /// Sets a value if the old one is as expected.
    CompareAndSwap {
        /// The old value at which it does.
        expected: Expr,
        /// What it sets.
        new: Expr,
    },
}

impl AtomicUpdate {
    /// How it is written.
    pub fn word(&self) -> &'static str {
        match self {
            AtomicUpdate::Add(_) => FETCH_ADD,
            AtomicUpdate::Exchange(_) => EXCHANGE,
            AtomicUpdate::CompareAndSwap { .. } => COMPARE_AND_SWAP,
        }
    }
}

/// What such an operation is called where it is refused.
pub const ATOMIC: &str = "an atomic operation that reads what it changes";

/// How the atomic operations are written.
pub const FETCH_ADD: &str = "fetch_add";
/// The same.
pub const EXCHANGE: &str = "exchange";
/// The same.
pub const COMPARE_AND_SWAP: &str = "compare_and_swap";

impl Protocol {
    /// The first statement that reads and changes a semaphore in one step.
    pub fn atomic(&self) -> Option<&Stmt> {
        self.first(|kind| matches!(kind, StmtKind::Atomic { .. } | StmtKind::WaitSwap { .. }))
    }

    /// The first statement whose result the program goes on with.
    pub fn result(&self) -> Option<&Stmt> {
        self.first(|kind| matches!(kind, StmtKind::Atomic { .. }))
    }

    fn first(&self, wanted: fn(&StmtKind) -> bool) -> Option<&Stmt> {
        self.roles.iter().find_map(|role| first(&role.body, wanted))
    }
}

/// Whether a program goes on with the result of an atomic operation.
pub fn has_result(body: &[Stmt]) -> bool {
    first(body, |kind| matches!(kind, StmtKind::Atomic { .. })).is_some()
}

fn first(body: &[Stmt], wanted: fn(&StmtKind) -> bool) -> Option<&Stmt> {
    body.iter().find_map(|stmt| match &stmt.kind {
        kind if wanted(kind) => Some(stmt),
        StmtKind::If {
            then, otherwise, ..
        } => first(then, wanted).or_else(|| first(otherwise, wanted)),
        StmtKind::For { body, .. } => first(body, wanted),
        _ => None,
    })
}
