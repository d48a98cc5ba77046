//! Trip counts that are quotients of parameters, as `(tiles - cta + 131) / 132` of a persistent kernel.
//!
//! The rule is about polynomials, and a quotient is none. So a parameter takes the place of the bound of a loop
//! `for i in 0..e / d`, if `e` is a polynomial over parameters and `d` is a number above 1: one parameter for all loops with this
//! bound.
//!
//! *Why this is sound.* Take any values of the parameters, and let the new parameter be `q = max(e, 0) / d`. It lies in its
//! domain, `0..`, and the two assumptions about it hold, `q * d <= max(e, 0)` and `e < q * d + d`. Every loop goes through the
//! same iterations as before: none if `e < 0`, since a quotient is rounded down. So each run of the protocol is one of the
//! protocol with these values, and what is shown of all values of the new parameter is shown of this one. Nothing that may be
//! undefined is left out, since `e` has a value everywhere.
//!
//! # Elsewhere
//!
//! The same quotient may stand elsewhere, as in `wait full[e / d % 2] e / d / 2 % 2` after the loop. There the parameter takes its place as
//! well. It is the quotient where `e` is not negative. That is to be shown wherever an expression with such a quotient is evaluated
//! ([`Rule::dividends`](super::rule::Rule)), of the protocol in which only bounds have their parameters.

use crate::certificate::cut::domain::never_negative;
use crate::certificate::cut::statements::for_each_expr;
use crate::certificate::exact;
use crate::protocol::Assumption;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Param;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// The same protocol, with a parameter for each such bound.
pub fn named(protocol: &Protocol) -> Protocol {
    let mut named = protocol.clone();
    let mut quotients: Vec<(Expr, i64)> = Vec::new();
    let first = protocol.params.len();
    for role in &mut named.roles {
        block(&mut role.body, &mut quotients, first);
    }
    for (over, under) in quotients {
        let id = ParamId(named.params.len());
        let mut name = format!("quotient_{}", id.0);
        while named.params.iter().any(|param| param.name == name) {
            name.push('_');
        }
        named.params.push(Param {
            name,
            domain: Domain::AtLeast(0),
            span: Span::default(),
        });
        let product = Expr::binary(BinaryOp::Mul, Expr::Param(id), Expr::Int(under));
        let next = Expr::binary(BinaryOp::Add, product.clone(), Expr::Int(under));
        let most = match never_negative(protocol, &over) {
            true => over.clone(),
            false => Expr::binary(BinaryOp::Max, over.clone(), Expr::Int(0)),
        };
        for condition in [
            Expr::binary(BinaryOp::Le, product, most),
            Expr::binary(BinaryOp::Lt, over, next),
        ] {
            named.assumptions.push(Assumption {
                condition,
                text: String::new(),
                span: None,
            });
        }
    }
    named
}

/// The quotients that have a parameter, in turn.
fn known(protocol: &Protocol) -> Vec<Quotient> {
    let mut quotients = Vec::new();
    for role in &protocol.roles {
        block(
            &mut role.body.clone(),
            &mut quotients,
            protocol.params.len(),
        );
    }
    quotients
}

/// A protocol in which bounds have their parameters, with these also where the same quotients stand elsewhere, and these quotients.
pub fn elsewhere(protocol: &Protocol, bounds: &Protocol) -> (Protocol, Vec<Quotient>) {
    let mut named = bounds.clone();
    let mut found = Vec::new();
    for (nth, quotient) in known(protocol).into_iter().enumerate() {
        let id = ParamId(exact::together(protocol.params.len(), nth));
        let mut used = false;
        for role in &mut named.roles {
            put_into(&mut role.body, &quotient, id, &mut used);
        }
        if used {
            found.push(quotient);
        }
    }
    (named, found)
}

fn put_into(body: &mut [Stmt], quotient: &Quotient, id: ParamId, used: &mut bool) {
    for stmt in body {
        for_each_expr(stmt, &mut |expr| put(expr, quotient, id, used));
        match &mut stmt.kind {
            StmtKind::For { body, .. } => put_into(body, quotient, id, used),
            StmtKind::If {
                then, otherwise, ..
            } => {
                put_into(then, quotient, id, used);
                put_into(otherwise, quotient, id, used);
            }
            _ => {}
        }
    }
}

fn put(expr: &mut Expr, quotient: &Quotient, id: ParamId, used: &mut bool) {
    let (over, under) = quotient;
    if is(expr, over, *under) {
        *expr = Expr::Param(id);
        *used = true;
        return;
    }
    let mut inner = |e: &mut Expr| put(e, quotient, id, used);
    match expr {
        Expr::Neg(e) | Expr::Not(e) => inner(e),
        Expr::Binary(_, a, b) => {
            inner(a);
            inner(b);
        }
        Expr::If(condition, a, b) => {
            inner(condition);
            inner(a);
            inner(b);
        }
        _ => {}
    }
}

/// Whether the quotient of these stands in an expression; of what is not looked into it may.
pub(super) fn stands_in(expr: &Expr, over: &Expr, under: i64) -> bool {
    let inside = |e: &Expr| stands_in(e, over, under);
    is(expr, over, under)
        || match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => false,
            Expr::Neg(e) | Expr::Not(e) => inside(e),
            Expr::Binary(_, a, b) => inside(a) || inside(b),
            Expr::If(condition, a, b) => inside(condition) || inside(a) || inside(b),
            Expr::Visits(..) | Expr::Count { .. } => true,
        }
}

/// Whether an expression is the quotient of these.
fn is(expr: &Expr, over: &Expr, under: i64) -> bool {
    matches!(expr, Expr::Binary(BinaryOp::Div, a, b) if **a == *over && **b == Expr::Int(under))
}

/// What is divided, and by what.
pub type Quotient = (Expr, i64);

fn block(body: &mut [Stmt], quotients: &mut Vec<(Expr, i64)>, first: usize) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over
                    && *lo == Expr::Int(0)
                    && let Some(quotient) = quotient(hi)
                {
                    let known = quotients.iter().position(|known| *known == quotient);
                    let nth = known.unwrap_or(quotients.len());
                    if known.is_none() {
                        quotients.push(quotient);
                    }
                    *hi = Expr::Param(ParamId(exact::together(first, nth)));
                }
                block(body, quotients, first);
            }
            StmtKind::If {
                then, otherwise, ..
            } => {
                block(then, quotients, first);
                block(otherwise, quotients, first);
            }
            _ => {}
        }
    }
}

/// What is divided by which number.
fn quotient(expr: &Expr) -> Option<(Expr, i64)> {
    match expr {
        Expr::Binary(BinaryOp::Div, over, under) => match **under {
            Expr::Int(under @ 2..) if of_parameters(over) => Some(((**over).clone(), under)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is over parameters, without quotients of its own.
fn of_parameters(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Param(_) => true,
        Expr::Neg(e) => of_parameters(e),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
            of_parameters(a) && of_parameters(b)
        }
        _ => false,
    }
}
