//! Atomic read-modify-write operations on semaphores.

use std::collections::BTreeSet;

use super::Comparison;
use super::Expr;
use super::ObjectId;
use super::Protocol;
use super::Stmt;
use super::StmtKind;

/// How an atomic operation changes a semaphore whose old value it returns.
#[derive(Debug, Clone, PartialEq)]
pub enum AtomicUpdate {
    /// Adds this, which may be negative.
    Add(Expr),
    /// Sets this.
    Exchange(Expr),
    /// Sets a value if the old one is as expected.
    CompareAndSwap {
        /// The old value at which it sets the new one.
        expected: Expr,
        /// What it sets.
        new: Expr,
    },
}

impl AtomicUpdate {
    /// The word for it in the language.
    pub fn word(&self) -> &'static str {
        match self {
            AtomicUpdate::Add(_) => FETCH_ADD,
            AtomicUpdate::Exchange(_) => EXCHANGE,
            AtomicUpdate::CompareAndSwap { .. } => COMPARE_AND_SWAP,
        }
    }
}

/// The name of such operations in messages that refuse them.
pub const ATOMIC: &str = "an atomic operation that reads what it changes";

/// The words for the atomic operations in the language.
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

    /// The first statement whose result the program uses.
    pub fn result(&self) -> Option<&Stmt> {
        self.first(|kind| matches!(kind, StmtKind::Atomic { .. }))
    }

    /// Whether a role that uses the result of an atomic operation may lower a semaphore for whose exact value some
    /// member waits.
    pub fn lowers_awaited_by_result(&self) -> bool {
        let results = self.roles.iter().filter(|role| has_result(&role.body));
        let mut lowered = BTreeSet::new();
        for role in results {
            first(&role.body, &mut |kind| {
                lowered.extend(lowers(kind));
                false
            });
        }
        let mut awaited = |kind: &StmtKind| match kind {
            StmtKind::Wait {
                cell,
                comparison: Comparison::Equal,
                ..
            } => lowered.contains(&cell.object),
            _ => false,
        };
        let mut roles = self.roles.iter();
        roles.any(|role| first(&role.body, &mut awaited).is_some())
    }

    fn first(&self, mut wanted: impl FnMut(&StmtKind) -> bool) -> Option<&Stmt> {
        let mut roles = self.roles.iter();
        roles.find_map(|role| first(&role.body, &mut wanted))
    }
}

/// The semaphore that a statement may lower.
fn lowers(kind: &StmtKind) -> Option<ObjectId> {
    match kind {
        StmtKind::Atomic {
            update: AtomicUpdate::Add(Expr::Int(0..)),
            ..
        } => None,
        StmtKind::Set { cell, .. }
        | StmtKind::WaitSwap { cell, .. }
        | StmtKind::Atomic { cell, .. } => Some(cell.object),
        _ => None,
    }
}

/// Whether a program uses the result of an atomic operation.
pub fn has_result(body: &[Stmt]) -> bool {
    first(body, &mut |kind| matches!(kind, StmtKind::Atomic { .. })).is_some()
}

/// The first statement of a block, at any depth, for which `wanted` is true.
pub fn first<'p>(body: &'p [Stmt], wanted: &mut dyn FnMut(&StmtKind) -> bool) -> Option<&'p Stmt> {
    body.iter().find_map(|stmt| match &stmt.kind {
        kind if wanted(kind) => Some(stmt),
        StmtKind::If {
            then, otherwise, ..
        } => first(then, wanted).or_else(|| first(otherwise, wanted)),
        StmtKind::For { body, .. } => first(body, wanted),
        _ => None,
    })
}
