//! Trip counts that are quotients of parameters, for example `(tiles - cta + 131) / 132` of a persistent kernel.
//!
//! The rule is about polynomials, and a quotient is not a polynomial. So a new parameter replaces the bound of a loop
//! `for i in 0..e / d`, if `e` is a polynomial over parameters and `d` is a number above 1. All loops with the same
//! bound share the parameter.
//!
//! *Why this is sound.* Take any values of the parameters, and let the new parameter be `q = max(e, 0) / d`. It lies
//! in its domain, `0..`, and the two assumptions about it hold: `q * d <= max(e, 0)` and `e < q * d + d`. Every loop
//! has the same iterations as before: none if `e < 0`, because a quotient is rounded down. So each run of the
//! protocol is a run of the new protocol with these values. The proof covers all values of the new parameter, so it
//! covers this one. The replacement drops nothing that may be undefined, because `e` has a value everywhere.
//!
//! The polynomial may also contain an index with a known number of values, as in `(N - w + 1) / 2` for members that
//! take turns. Then there is one parameter for each value, and the bound is the parameter for the member's index. The
//! same argument holds for each of them.
//!
//! # Elsewhere
//!
//! The same quotient may also occur elsewhere, for example in `wait full[e / d % 2] e / d / 2 % 2` after the loop.
//! The parameter replaces it there, too. The parameter equals the quotient if `e` is not negative. So this has to be
//! shown wherever an expression with such a quotient is evaluated ([`Rule::dividends`](super::rule::Rule)), for the
//! protocol in which parameters replace only bounds.

use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
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
use crate::protocol::Role;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// A bound with an index of more values is not replaced.
const MAX_VALUES: i64 = 8;

/// The same protocol, with a parameter for each such bound.
pub fn named(protocol: &Protocol) -> Protocol {
    let mut named = protocol.clone();
    let mut quotients: Vec<(Expr, i64)> = Vec::new();
    let first = protocol.params.len();
    for role in &mut named.roles {
        let indices = indices(role);
        block(&mut role.body, &mut quotients, (first, &indices));
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

/// The quotients that have a parameter, in order.
fn known(protocol: &Protocol) -> Vec<Quotient> {
    let mut quotients = Vec::new();
    for role in &protocol.roles {
        let indices = indices(role);
        let of = (protocol.params.len(), &indices[..]);
        block(&mut role.body.clone(), &mut quotients, of);
    }
    quotients
}

/// The protocol in which parameters also replace quotients elsewhere, and these quotients. In `bounds`, parameters
/// replace only bounds.
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

/// Whether the quotient of these occurs in an expression. The result is true for an expression that is not examined.
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

/// The dividend and the divisor of a quotient.
pub type Quotient = (Expr, i64);

/// The indices of a role that have a small number of values, and never another one.
fn indices(role: &Role) -> Vec<(VarId, i64)> {
    let changed = break_elimination::changed(&role.body);
    let known = role.indices.iter().filter_map(|index| match index.extent {
        Expr::Int(extent @ 1..=MAX_VALUES) if !changed.contains(&index.var) => {
            Some((index.var, extent))
        }
        _ => None,
    });
    known.collect()
}

fn block(
    body: &mut [Stmt],
    quotients: &mut Vec<(Expr, i64)>,
    (first, indices): (usize, &[(VarId, i64)]),
) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::For { over, body, .. } => {
                if let Iteration::Range { lo, hi, .. } = over
                    && *lo == Expr::Int(0)
                    && let Some(bound) = bound(hi, quotients, (first, indices))
                {
                    *hi = bound;
                }
                block(body, quotients, (first, indices));
            }
            StmtKind::If {
                then, otherwise, ..
            } => {
                block(then, quotients, (first, indices));
                block(otherwise, quotients, (first, indices));
            }
            _ => {}
        }
    }
}

/// The parameter that replaces a bound, or the parameters for all values of the index in it.
fn bound(
    hi: &Expr,
    quotients: &mut Vec<(Expr, i64)>,
    (first, indices): (usize, &[(VarId, i64)]),
) -> Option<Expr> {
    let mut name = |quotient: Quotient| {
        let known = quotients.iter().position(|known| *known == quotient);
        let nth = known.unwrap_or(quotients.len());
        if known.is_none() {
            quotients.push(quotient);
        }
        Expr::Param(ParamId(exact::together(first, nth)))
    };
    if let Some(quotient) = quotient(hi) {
        return Some(name(quotient));
    }
    let mut inside = indices
        .iter()
        .filter(|(var, _)| algebra::mentions(hi, *var));
    let (var, extent) = inside.next()?;
    let at = |value: i64| {
        let value = |other: VarId| (other == *var).then_some(Expr::Int(value));
        quotient(&algebra::rewrite(hi, &value, &|_| None))
    };
    let all: Option<Vec<Quotient>> = (0..*extent).map(at).collect();
    let mut all: Vec<Expr> = all?.into_iter().map(&mut name).collect();
    let last = all.pop()?;
    let numbered: Vec<(i64, Expr)> = (0..*extent).zip(all).collect();
    Some(
        numbered
            .into_iter()
            .rev()
            .fold(last, |rest, (value, param)| {
                let here = Expr::binary(BinaryOp::Eq, Expr::Var(*var), Expr::Int(value));
                Expr::If(Box::new(here), Box::new(param), Box::new(rest))
            }),
    )
}

/// The dividend and the number that it is divided by.
fn quotient(expr: &Expr) -> Option<(Expr, i64)> {
    match expr {
        Expr::Binary(BinaryOp::Div, over, under) => match **under {
            Expr::Int(under @ 2..) if of_parameters(over) => Some(((**over).clone(), under)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is over parameters and has no quotients.
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
