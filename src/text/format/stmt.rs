//! Statements and blocks as lines.

use super::expr::cell_text;
use super::expr::expression;
use super::expr::list;
use super::lines::Lines;
use crate::protocol::Comparison;
use crate::protocol::RowOrder;
use crate::text::ast::Atomic;
use crate::text::ast::Block;
use crate::text::ast::Cell;
use crate::text::ast::Else;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::ast::Iteration;
use crate::text::ast::RED;
use crate::text::ast::ST;
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
            match value {
                Some(value) => format!("wait {} {sign}{}", cell_text(cell), expression(value)),
                None => format!("wait {}", cell_text(cell)),
            }
        }
        StmtKind::Arrive { cell, count: None } => format!("arrive {}", cell_text(cell)),
        StmtKind::Arrive {
            cell,
            count: Some(count),
        } => format!("arrive {} {}", cell_text(cell), optional(count)),
        StmtKind::Sync { cell, count: None } => format!("sync {}", cell_text(cell)),
        StmtKind::Sync {
            cell,
            count: Some(count),
        } => format!("sync {} {}", cell_text(cell), expression(count)),
        StmtKind::Operation {
            operation,
            cell,
            amount,
            backing,
        } => {
            let amount = amount.as_ref();
            let amount = amount.map_or_else(String::new, |e| format!(" {}", expression(e)));
            let backing = match backing.is_empty() {
                true => String::new(),
                false => {
                    let cells: Vec<String> = backing.iter().map(cell_text).collect();
                    format!(" backing {}", cells.join(", "))
                }
            };
            format!("{} {}{amount}{backing}", operation.word(), cell_text(cell))
        }
        StmtKind::Copy { target, completes } => {
            let text = format!("async copy {}", cell_text(target));
            match completes {
                Some(completes) => {
                    let (cell, bytes) = (cell_text(&completes.0), expression(&completes.1));
                    format!("{text} completes {cell} {bytes}")
                }
                None => text,
            }
        }
        StmtKind::Async {
            verb,
            reads,
            writes,
        } => match works_on(reads, writes).as_str() {
            "" => format!("async {}", verb.text),
            targets => format!("async {} {targets}", verb.text),
        },
        StmtKind::Fence => "fence".to_owned(),
        StmtKind::Assert { condition } => format!("assert {}", expression(condition)),
        StmtKind::CommitGroup => "commit_group".to_owned(),
        StmtKind::WaitGroup { count, read } => {
            let read = if *read { " read" } else { "" };
            format!("wait_group {}{read}", expression(count))
        }
        StmtKind::Advance { name } => format!("advance {}", name.text),
        StmtKind::Elect { body } => return compound(lines, "elect", start, body),
        StmtKind::Repeat { count, body } => {
            let header = format!("repeat {}", expression(count));
            return compound(lines, &header, start, body);
        }
        StmtKind::Update { cell, add, value } => {
            let sign = if *add { "+=" } else { "=" };
            format!("{} {sign} {}", cell_text(cell), expression(value))
        }
        StmtKind::Var { name, value } => format!("var {} = {}", name.text, expression(value)),
        StmtKind::Atomic {
            name,
            kept,
            operation,
            cell,
            operands,
        } => {
            let first = if *kept { "let" } else { "var" };
            let words = stmt.qualifiers.iter().map(|word| format!(".{}", word.text));
            let words: String = words.collect();
            let call = format!(
                "{}{words}({}, {})",
                operation.word(),
                cell_text(cell),
                list(operands)
            );
            let text = format!("{first} {} = {call}", name.text);
            return lines.line(text, start, stmt.span.end);
        }
        StmtKind::WaitSwap {
            cell,
            expected,
            new,
        } => {
            let (expected, new) = (expression(expected), expression(new));
            let word = Atomic::CompareAndSwap.word();
            format!("wait {word}({}, {expected}, {new})", cell_text(cell))
        }
        StmtKind::Let { name, value } => format!("let {} = {}", name.text, expression(value)),
        StmtKind::Access { verb, target } => format!("{verb} {}", cell_text(target)),
        StmtKind::Return => "return".to_owned(),
        StmtKind::Break => "break".to_owned(),
    };
    lines.line(qualified(text, stmt), start, stmt.span.end);
}

/// A statement with the words that follow dots after its first word.
fn qualified(text: String, stmt: &Stmt) -> String {
    if stmt.qualifiers.is_empty() {
        return text;
    }
    let words = stmt.qualifiers.iter().map(|word| format!(".{}", word.text));
    let words: String = words.collect();
    match (&stmt.kind, text.split_once(' ')) {
        (StmtKind::Update { add: true, .. }, _) => format!("{RED}{words} {text}"),
        (StmtKind::Update { add: false, .. }, _) => format!("{ST}{words} {text}"),
        (_, Some((first, rest))) => format!("{first}{words} {rest}"),
        (_, None) => format!("{text}{words}"),
    }
}

/// `reads a, b writes c`, either part only where there is something.
pub(in crate::text) fn works_on(reads: &[Cell], writes: &[Cell]) -> String {
    let part = |word: &str, cells: &[Cell]| {
        let cells: Vec<String> = cells.iter().map(cell_text).collect();
        format!("{word} {}", cells.join(", "))
    };
    let parts = [("reads", reads), ("writes", writes)].into_iter();
    let parts = parts.filter(|(_, cells)| !cells.is_empty());
    let parts: Vec<String> = parts.map(|(word, cells)| part(word, cells)).collect();
    parts.join(" ")
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
            let separator = if row.is_empty() { "" } else { ", " };
            format!("row({}{separator}{}){order}", pattern.text, list(row))
        }
    }
}

/// An expression that may be left out. An `if` at this place would begin the next statement.
fn optional(e: &Expr) -> String {
    match e.kind {
        ExprKind::If(..) => format!("({})", expression(e)),
        _ => expression(e),
    }
}
