//! Parameters that are multiples of a number, for example an even number of stages.
//!
//! ```text
//! param S in 2..  assume S % 2 == 0  ..  wait full[(2 * i + w) % S] i / (S / 2) % 2
//! ```
//!
//! The rule is about polynomials, and `S / 2` is none. So a parameter `H` takes the place of `S`, and `2 * H` stands wherever `S`
//! stood. Then `S / 2` is `2 * H / 2`, which is `H`.
//!
//! *Why this is sound.* The values of `S` that are left by the assumption are `2 * H`, where `H` goes through the numbers whose double
//! is in the domain of `S`. The protocol with `H` is the protocol with this `S`. Nothing that may be undefined is left out: the
//! assumption has a value everywhere, since 2 is a number above 0, and so has each assumption in front of it. The domain of `H` may have
//! more values than that, for a set of values it has the same.
//!
//! This is done only where some program divides by a number what the parameter is in. Elsewhere `S` itself is as good.

use crate::certificate::cut::algebra;
use crate::certificate::cut::statements;
use crate::certificate::normal::constant_parameters::every_expr;
use crate::protocol::BinaryOp;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

/// The same protocol, with multiples of new parameters for those that are multiples.
pub(super) fn named(protocol: &Protocol) -> Protocol {
    let mut named = protocol.clone();
    while let Some(multiple) = Multiple::of(&named) {
        named = multiple.named(&named);
    }
    named
}

/// A parameter that an assumption says is a multiple of a number.
struct Multiple {
    param: ParamId,
    by: i64,
    /// Which assumption says so.
    assumption: usize,
}

impl Multiple {
    fn of(protocol: &Protocol) -> Option<Multiple> {
        let assumptions = protocol.assumptions.iter();
        let mut defined = assumptions
            .enumerate()
            .take_while(|(_, assumption)| plain(&assumption.condition));
        defined.find_map(|(assumption, said)| {
            let Expr::Binary(BinaryOp::Eq, a, b) = &said.condition else {
                return None;
            };
            let rest = match (&**a, &**b) {
                (rest, Expr::Int(0)) | (Expr::Int(0), rest) => rest,
                _ => return None,
            };
            let Expr::Binary(BinaryOp::Mod, param, by) = rest else {
                return None;
            };
            match (&**param, &**by) {
                (Expr::Param(param), Expr::Int(by @ 2..)) => {
                    let divided = |role: &crate::protocol::Role| divided(&role.body, *param);
                    let multiple = Multiple {
                        param: *param,
                        by: *by,
                        assumption,
                    };
                    protocol.roles.iter().any(divided).then_some(multiple)
                }
                _ => None,
            }
        })
    }

    fn named(&self, protocol: &Protocol) -> Protocol {
        let mut named = protocol.clone();
        named.assumptions.remove(self.assumption);
        let multiple = algebra::mul(Expr::Int(self.by), Expr::Param(self.param));
        let put = |e: &Expr| {
            let param = |param: ParamId| (param == self.param).then(|| multiple.clone());
            whole(&algebra::replace(e, &|_| None, &param))
        };
        every_expr(&mut named, &mut |e| *e = put(e));
        for assumption in &mut named.assumptions {
            assumption.condition = put(&assumption.condition);
        }
        let mut name = format!("{}_over_{}", protocol.params[self.param.0].name, self.by);
        while protocol.params.iter().any(|param| param.name == name) {
            name.push('_');
        }
        let this = &mut named.params[self.param.0];
        this.name = name;
        let by = self.by;
        this.domain = match &this.domain {
            Domain::AtLeast(lo) => Domain::AtLeast(up(*lo, by)),
            Domain::Range(lo, hi) => Domain::Range(up(*lo, by), hi.div_euclid(by)),
            Domain::Set(values) => {
                let multiples = values.iter().filter(|value| value.rem_euclid(by) == 0);
                Domain::Set(multiples.map(|value| value.div_euclid(by)).collect())
            }
        };
        named
    }
}

/// Whether an expression has a value, whatever the parameters are.
fn plain(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => true,
        Expr::Var(_) | Expr::Visits(..) | Expr::Count { .. } => false,
        Expr::Neg(e) | Expr::Not(e) => plain(e),
        Expr::Binary(op, a, b) => {
            let defined = match op {
                BinaryOp::Div | BinaryOp::Mod => matches!(**b, Expr::Int(1..)),
                BinaryOp::Xor => false,
                _ => true,
            };
            defined && plain(a) && plain(b)
        }
        Expr::If(c, a, b) => plain(c) && plain(a) && plain(b),
    }
}

/// The least number of which this is no more than so many times.
fn up(lo: i64, by: i64) -> i64 {
    let below = lo.div_euclid(by);
    // By 2 at least, so the next number fits.
    match lo.rem_euclid(by) {
        0 => below,
        _ => below.checked_add(1).unwrap_or(below),
    }
}

/// Whether what a parameter is in is divided by a number somewhere.
fn divided(body: &[Stmt], param: ParamId) -> bool {
    body.iter().any(|stmt| {
        let mut found = false;
        statements::visit_exprs(stmt, &mut |e| found |= divides(e, param));
        found
            || match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => divided(then, param) || divided(otherwise, param),
                StmtKind::For { body, .. } => divided(body, param),
                _ => false,
            }
    })
}

fn divides(expr: &Expr, param: ParamId) -> bool {
    let go = |e: &Expr| divides(e, param);
    match expr {
        Expr::Binary(BinaryOp::Div, over, under) if matches!(**under, Expr::Int(2..)) => {
            algebra::mentions_param(over, param)
        }
        Expr::Binary(_, a, b) => go(a) || go(b),
        Expr::Neg(e) | Expr::Not(e) => go(e),
        Expr::If(c, a, b) => go(c) || go(a) || go(b),
        Expr::Int(_)
        | Expr::Bool(_)
        | Expr::Param(_)
        | Expr::Var(_)
        | Expr::Visits(..)
        | Expr::Count { .. } => false,
    }
}

/// An expression in which quotients of multiples are written out: `k * e` for `d * k * e / d`.
fn whole(expr: &Expr) -> Expr {
    let go = |e: &Expr| Box::new(whole(e));
    match expr {
        Expr::Binary(BinaryOp::Div, over, under) => {
            let (over, under) = (whole(over), whole(under));
            match under {
                Expr::Int(by @ 1..) => quotient(&over, by),
                _ => None,
            }
            .unwrap_or_else(|| Expr::binary(BinaryOp::Div, over, under))
        }
        Expr::Binary(op, a, b) => Expr::Binary(*op, go(a), go(b)),
        Expr::Neg(e) => Expr::Neg(go(e)),
        Expr::Not(e) => Expr::Not(go(e)),
        Expr::If(c, a, b) => Expr::If(go(c), go(a), go(b)),
        other => other.clone(),
    }
}

/// What a number makes this product or sum from, by its form.
fn quotient(over: &Expr, by: i64) -> Option<Expr> {
    match over {
        Expr::Int(value) if value.rem_euclid(by) == 0 => Some(Expr::Int(value.div_euclid(by))),
        Expr::Binary(BinaryOp::Mul, a, b) => match (quotient(a, by), quotient(b, by)) {
            (Some(a), _) => Some(times(a, (**b).clone())),
            (_, Some(b)) => Some(times(b, (**a).clone())),
            _ => None,
        },
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            Some(Expr::binary(*op, quotient(a, by)?, quotient(b, by)?))
        }
        _ => None,
    }
}

/// A product, in which each factor is still evaluated.
fn times(a: Expr, b: Expr) -> Expr {
    match a {
        Expr::Int(1) => b,
        a => Expr::binary(BinaryOp::Mul, a, b),
    }
}
