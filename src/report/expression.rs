//! Expressions over parameters as text.

use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Protocol;

/// An expression in the notation of the language. Composed expressions are put in parentheses. `?` stands for a term
/// that exists only inside a proof.
pub fn text(protocol: &Protocol, expr: &Expr) -> String {
    let go = |e: &Expr| text(protocol, e);
    let infix = |op: &str, a: &Expr, b: &Expr| format!("({} {op} {})", go(a), go(b));
    match expr {
        Expr::Int(value) => value.to_string(),
        Expr::Bool(value) => value.to_string(),
        Expr::Param(id) => protocol
            .params
            .get(id.0)
            .map_or("?".to_owned(), |p| p.name.clone()),
        Expr::Neg(e) => format!("-{}", go(e)),
        Expr::Not(e) => format!("!{}", go(e)),
        Expr::Binary(BinaryOp::Min, a, b) => format!("min({}, {})", go(a), go(b)),
        Expr::Binary(BinaryOp::Max, a, b) => format!("max({}, {})", go(a), go(b)),
        Expr::Binary(op, a, b) => infix(symbol(*op), a, b),
        Expr::If(c, a, b) => format!("(if {} then {} else {})", go(c), go(a), go(b)),
        Expr::Var(_) | Expr::Visits(..) | Expr::Count { .. } => "?".to_owned(),
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
        BinaryOp::Xor => "^",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}
