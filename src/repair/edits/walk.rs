//! The statements of a text with the branches and loops around them.

use crate::protocol::Span;
use crate::text::ast::Block;
use crate::text::ast::Cell;
use crate::text::ast::Else;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::File;
use crate::text::ast::Item;
use crate::text::ast::ItemKind;
use crate::text::ast::Iteration;
use crate::text::ast::Operation;
use crate::text::ast::Role;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

/// A statement and its surroundings.
#[derive(Clone, Copy)]
pub(super) struct Place<'s> {
    /// The position of its role among the roles.
    pub role: usize,
    pub stmt: &'s Stmt,
    /// The block that contains it, and its position there.
    pub block: &'s Block,
    pub at: usize,
    /// Whether an `if` or an `elect` stands around it.
    pub guarded: bool,
}

/// The roles of a text.
pub(super) fn roles(file: &File) -> impl Iterator<Item = (&Item, &Role)> {
    file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Role(role) => Some((item, role)),
        _ => None,
    })
}

/// Every statement, in text order.
pub(super) fn places(file: &File) -> Vec<Place<'_>> {
    let mut all = Vec::new();
    for (at, (_, role)) in roles(file).enumerate() {
        block(at, &role.body, false, &mut all);
    }
    all
}

fn block<'s>(role: usize, body: &'s Block, guarded: bool, into: &mut Vec<Place<'s>>) {
    for (at, stmt) in body.stmts.iter().enumerate() {
        into.push(Place {
            role,
            stmt,
            block: body,
            at,
            guarded,
        });
        let guards = matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Elect { .. });
        for inner in blocks(stmt) {
            block(role, inner, guarded || guards, into);
        }
    }
}

/// The blocks of a statement.
pub(super) fn blocks(stmt: &Stmt) -> Vec<&Block> {
    match &stmt.kind {
        StmtKind::If {
            then, otherwise, ..
        } => {
            let mut all = vec![then];
            match otherwise {
                Some(Else::Block(block)) => all.push(block),
                Some(Else::If(next)) => all.extend(blocks(next)),
                None => {}
            }
            all
        }
        StmtKind::For { body, .. } | StmtKind::Repeat { body, .. } | StmtKind::Elect { body } => {
            vec![body]
        }
        _ => Vec::new(),
    }
}

/// The range of a statement including its blocks.
pub(super) fn extent(stmt: &Stmt) -> Span {
    let end = blocks(stmt).last().map_or(stmt.span.end, |b| b.close.end);
    Span {
        start: stmt.span.start,
        end: end.max(stmt.span.end),
    }
}

/// The element that a statement synchronizes at.
pub(super) fn cell(stmt: &Stmt) -> Option<&Cell> {
    match &stmt.kind {
        StmtKind::Wait { cell, .. }
        | StmtKind::Arrive { cell, .. }
        | StmtKind::Sync { cell, .. }
        | StmtKind::Operation { cell, .. }
        | StmtKind::Update { cell, .. } => Some(cell),
        StmtKind::Copy { completes, .. } => completes.as_ref().map(|both| &both.0),
        _ => None,
    }
}

/// Whether a statement arrives at a barrier.
pub(super) fn arrives(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Arrive { .. } | StmtKind::Sync { .. } => true,
        StmtKind::Operation { operation, .. } => {
            matches!(operation, Operation::ArriveExpectTx | Operation::Commit)
        }
        _ => false,
    }
}

/// Whether a statement, or one in its blocks, synchronizes.
pub(super) fn synchronizes(stmt: &Stmt) -> bool {
    let inner = || blocks(stmt).into_iter().flat_map(|b| &b.stmts);
    cell(stmt).is_some() || inner().any(synchronizes)
}

/// The bounds of a loop over numbers. The lower one may be missing.
pub(super) fn bounds(stmt: &Stmt) -> Option<(Option<&Expr>, &Expr)> {
    match &stmt.kind {
        StmtKind::Repeat { count, .. } => Some((None, count)),
        StmtKind::For {
            over: Iteration::Range { lo, hi, .. },
            ..
        } => Some((Some(lo), hi)),
        _ => None,
    }
}

/// The names of an expression.
pub(super) fn names<'e>(e: &'e Expr, into: &mut Vec<&'e str>) {
    match &e.kind {
        ExprKind::Name(name) => into.push(name),
        ExprKind::Field(name, _) => into.push(&name.text),
        _ => {}
    }
    for part in e.kind.children() {
        names(part, into);
    }
}
