//! Statements and blocks as lines.

use super::expr::cell_text;
use super::expr::expression;
use super::expr::list;
use super::lines::Lines;
use crate::protocol::Comparison;
use crate::protocol::RowOrder;
use crate::text::ast::Block;
use crate::text::ast::Else;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::Iteration;
use crate::text::ast::Stmt;
use crate::text::ast::StmtKind;

/// Writes a header and the block after it.
pub(super) fn compound(lines: &mut Lines<'_>, header: &str, start: usize, block: &Block) {
    if block.stmts.is_empty() && !lines.has_comment_before(block.close.start) {
        lines.line(format!("{header} {{}}"), start, block.close.end);
        return;
    }
    open(lines, header, start, block);
    close(lines, block);
}

fn open(lines: &mut Lines<'_>, header: &str, start: usize, block: &Block) {
    lines.line(format!("{header} {{"), start, block.open.end);
    lines.indent();
    for stmt in &block.stmts {
        statement(lines, stmt);
    }
}

fn close(lines: &mut Lines<'_>, block: &Block) {
    lines.comments_before(block.close.start);
    lines.outdent();
    lines.line("}".to_owned(), block.close.start, block.close.end);
}

fn statement(lines: &mut Lines<'_>, stmt: &Stmt) {
    let start = stmt.span.start;
    let text = match &stmt.kind {
        StmtKind::If {
            condition,
            then,
            otherwise,
        } => {
            let header = format!("if {}", expression(condition));
            return choice(lines, &header, start, then, otherwise.as_ref());
        }
        StmtKind::For { name, over, body } => {
            let header = format!("for {} in {}", name.text, iteration(over));
            return compound(lines, &header, start, body);
        }
        StmtKind::Wait {
            cell,
            comparison,
            value,
        } => {
            let sign = match comparison {
                Some(Comparison::Equal) => "== ",
                Some(Comparison::AtLeast) => ">= ",
                None => "",
            };
            format!("wait {} {sign}{}", cell_text(cell), expression(value))
        }
        StmtKind::Arrive { cell, count: None } => format!("arrive {}", cell_text(cell)),
        StmtKind::Arrive {
            cell,
            count: Some(count),
        } => format!("arrive {} {}", cell_text(cell), optional(count)),
        StmtKind::Sync { cell, count } => {
            format!("sync {} {}", cell_text(cell), expression(count))
        }
        StmtKind::Update { cell, add, value } => {
            let sign = if *add { "+=" } else { "=" };
            format!("{} {sign} {}", cell_text(cell), expression(value))
        }
        StmtKind::Var { name, value } => format!("var {} = {}", name.text, expression(value)),
        StmtKind::Access { verb, target } => format!("{verb} {}", cell_text(target)),
        StmtKind::Return => "return".to_owned(),
        StmtKind::Break => "break".to_owned(),
    };
    lines.line(text, start, stmt.span.end);
}

fn choice(
    lines: &mut Lines<'_>,
    header: &str,
    start: usize,
    then: &Block,
    otherwise: Option<&Else>,
) {
    let Some(otherwise) = otherwise else {
        return compound(lines, header, start, then);
    };
    open(lines, header, start, then);
    let (next, header) = match otherwise {
        Else::Block(block) => (block, "} else".to_owned()),
        Else::If(stmt) => match &stmt.kind {
            StmtKind::If {
                condition, then, ..
            } => (then, format!("}} else if {}", expression(condition))),
            _ => return close(lines, then),
        },
    };
    lines.comments_before(next.open.end);
    lines.outdent();
    match otherwise {
        Else::If(stmt) => match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => choice(lines, &header, next.open.start, then, otherwise.as_ref()),
            _ => close(lines, next),
        },
        Else::Block(block) => compound(lines, &header, next.open.start, block),
    }
}

fn iteration(over: &Iteration) -> String {
    match over {
        Iteration::Range { lo, hi, descending } => {
            let order = if *descending { " descending" } else { "" };
            format!("{}..{}{order}", expression(lo), expression(hi))
        }
        Iteration::Row {
            pattern,
            row,
            order,
            ..
        } => {
            let order = match order {
                RowOrder::Given => "",
                RowOrder::Ascending => " ascending",
                RowOrder::Descending => " descending",
                RowOrder::Any => " any order",
            };
            format!("row({}, {}){order}", pattern.text, list(row))
        }
    }
}

/// An expression that may be left out: an `if` here would begin the next statement.
fn optional(e: &Expr) -> String {
    match e.kind {
        ExprKind::If(..) => format!("({})", expression(e)),
        _ => expression(e),
    }
}
