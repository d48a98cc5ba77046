//! Expressions as text, with no more parentheses than their meaning needs.

use crate::text::ast::Cell;
use crate::text::ast::Expr;
use crate::text::ast::ExprKind;
use crate::text::operators::COMPARISON;
use crate::text::operators::PREFIX;
use crate::text::operators::strength;
use crate::text::operators::symbol;

/// An expression on one line.
pub(in crate::text) fn expression(e: &Expr) -> String {
    let mut out = String::new();
    write(&mut out, e, 0);
    out
}

/// `name[index, ...]` on one line.
pub(in crate::text) fn cell_text(cell: &Cell) -> String {
    let mut out = cell.name.text.clone();
    if !cell.index.is_empty() {
        out.push('[');
        out.push_str(&list(&cell.index));
        out.push(']');
    }
    out
}

/// Expressions between commas.
pub(super) fn list(parts: &[Expr]) -> String {
    let mut out = String::new();
    write_list(&mut out, parts);
    out
}

/// Writes an expression. It gets parentheses if its operator is weaker than `least`.
fn write(out: &mut String, e: &Expr, least: u8) {
    let own = match &e.kind {
        ExprKind::Binary(op, ..) => strength(*op),
        ExprKind::Neg(_) | ExprKind::Not(_) => PREFIX,
        ExprKind::If(..) => 0,
        _ => u8::MAX,
    };
    if own < least {
        out.push('(');
        write_bare(out, e);
        out.push(')');
    } else {
        write_bare(out, e);
    }
}

fn write_bare(out: &mut String, e: &Expr) {
    match &e.kind {
        ExprKind::Int(value) => out.push_str(&value.to_string()),
        ExprKind::Bool(value) => out.push_str(&value.to_string()),
        ExprKind::Name(name) => out.push_str(name),
        ExprKind::Call(name, parts) => {
            out.push_str(&name.text);
            out.push('(');
            write_list(out, parts);
            out.push(')');
        }
        ExprKind::Visits(name, parts) => {
            out.push_str(&name.text);
            out.push('[');
            write_list(out, parts);
            out.push(']');
        }
        ExprKind::Field(name, field) => {
            out.push_str(&name.text);
            out.push('.');
            out.push_str(&field.text);
        }
        ExprKind::Neg(inner) => {
            out.push('-');
            write(out, inner, PREFIX);
        }
        ExprKind::Not(inner) => {
            out.push('!');
            write(out, inner, PREFIX);
        }
        ExprKind::Binary(op, a, b) => {
            let own = strength(*op);
            let left = if own == COMPARISON { own + 1 } else { own };
            write(out, a, left);
            out.push(' ');
            out.push_str(symbol(*op));
            out.push(' ');
            write(out, b, own + 1);
        }
        ExprKind::If(c, a, b) => {
            out.push_str("if ");
            write(out, c, 0);
            out.push_str(" then ");
            write(out, a, 0);
            out.push_str(" else ");
            write(out, b, 0);
        }
        ExprKind::Count { var, lo, hi, body } => {
            out.push_str("count(");
            out.push_str(&var.text);
            out.push_str(" in ");
            write(out, lo, 0);
            out.push_str("..");
            write(out, hi, 0);
            out.push_str(" where ");
            write(out, body, 0);
            out.push(')');
        }
    }
}

fn write_list(out: &mut String, parts: &[Expr]) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(out, part, 0);
    }
}
