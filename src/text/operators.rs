//! The infix operators: how they are written and how tightly they bind.
//!
//! The parser and the formatter use the same table. So the parser reads back what the formatter prints.

use super::token::Token;
use crate::protocol::BinaryOp;

/// Binding strength of the comparisons, which do not chain.
pub(super) const COMPARISON: u8 = 3;

/// Binding strength of the prefix operators; stronger than every infix operator.
pub(super) const PREFIX: u8 = 7;

/// The infix operator that a token stands for, and how tightly it binds.
pub(super) fn infix(token: Token) -> Option<(BinaryOp, u8)> {
    let op = match token {
        Token::OrOr => BinaryOp::Or,
        Token::AndAnd => BinaryOp::And,
        Token::EqualEqual => BinaryOp::Eq,
        Token::NotEqual => BinaryOp::Ne,
        Token::Less => BinaryOp::Lt,
        Token::LessEqual => BinaryOp::Le,
        Token::Greater => BinaryOp::Gt,
        Token::GreaterEqual => BinaryOp::Ge,
        Token::Caret => BinaryOp::Xor,
        Token::Plus => BinaryOp::Add,
        Token::Minus => BinaryOp::Sub,
        Token::Star => BinaryOp::Mul,
        Token::Slash => BinaryOp::Div,
        Token::Percent => BinaryOp::Mod,
        _ => return None,
    };
    Some((op, strength(op)))
}

/// How tightly an operator binds: from 1, the loosest.
pub(super) fn strength(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            COMPARISON
        }
        BinaryOp::Xor => 4,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => 6,
        BinaryOp::Min | BinaryOp::Max => PREFIX,
    }
}

/// How an operator is written. `min` and `max` are written as calls.
pub(super) fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "||",
        BinaryOp::And => "&&",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Xor => "^",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
    }
}
