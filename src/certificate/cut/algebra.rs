//! Integer expressions as an algebra: folding constructors, sums and counts in closed form.
//!
//! A closed form here is an [`Expr`] over parameters and iteration numbers that contains no loop.
//! Every function returns an expression of the same value as its definition for every integer
//! value of the names in it, under the conditions its comment states.

use std::collections::HashMap;

use super::lengths;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::VarId;

/// `a + b`, folded.
pub fn add(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Int(0), e) | (e, Expr::Int(0)) => e,
        (Expr::Int(x), Expr::Int(y)) => folded(BinaryOp::Add, x, y, x.checked_add(y)),
        (Expr::Binary(BinaryOp::Add, a, k), Expr::Int(y)) if literal_sum(&k, y).is_some() => {
            add(*a, literal_sum(&k, y).unwrap_or(Expr::Int(0)))
        }
        (a, b) => Expr::binary(BinaryOp::Add, a, b),
    }
}

fn literal_sum(k: &Expr, y: i64) -> Option<Expr> {
    match k {
        Expr::Int(x) => x.checked_add(y).map(Expr::Int),
        _ => None,
    }
}

/// A literal if it fits, and the operation as it stands if not.
fn folded(op: BinaryOp, x: i64, y: i64, value: Option<i64>) -> Expr {
    value.map_or_else(|| Expr::binary(op, Expr::Int(x), Expr::Int(y)), Expr::Int)
}

/// `a - b`, folded.
pub fn sub(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (a, b) if a == b => Expr::Int(0),
        (e, Expr::Int(0)) => e,
        (Expr::Int(x), Expr::Int(y)) => folded(BinaryOp::Sub, x, y, x.checked_sub(y)),
        (a, Expr::Int(y)) => match y.checked_neg() {
            Some(minus) => add(a, Expr::Int(minus)),
            None => Expr::binary(BinaryOp::Sub, a, Expr::Int(y)),
        },
        (a, b) => Expr::binary(BinaryOp::Sub, a, b),
    }
}

/// `a * b`, folded.
pub fn mul(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Int(0), _) | (_, Expr::Int(0)) => Expr::Int(0),
        (Expr::Int(1), e) | (e, Expr::Int(1)) => e,
        (Expr::Int(x), Expr::Int(y)) => folded(BinaryOp::Mul, x, y, x.checked_mul(y)),
        (a, b) => Expr::binary(BinaryOp::Mul, a, b),
    }
}

/// The lesser of two, folded.
pub fn min(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Int(x), Expr::Int(y)) => Expr::Int(x.min(y)),
        (a, b) if a == b => a,
        (a, b) => Expr::binary(BinaryOp::Min, a, b),
    }
}

/// The greater of two, folded.
pub fn max(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Int(x), Expr::Int(y)) => Expr::Int(x.max(y)),
        (a, b) if a == b => a,
        (a, b) => Expr::binary(BinaryOp::Max, a, b),
    }
}

/// `if c then a else b`, folded.
pub fn choose(c: Expr, a: Expr, b: Expr) -> Expr {
    match c {
        Expr::Bool(true) => a,
        Expr::Bool(false) => b,
        _ if a == b => a,
        c => Expr::If(Box::new(c), Box::new(a), Box::new(b)),
    }
}

/// Negation of a truth value, folded.
pub fn not(c: Expr) -> Expr {
    match c {
        Expr::Bool(value) => Expr::Bool(!value),
        Expr::Not(inner) => *inner,
        c => Expr::Not(Box::new(c)),
    }
}

/// A binary operation with literals folded where the operation is defined.
pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    use BinaryOp as B;
    match (op, a, b) {
        (B::Add, a, b) => add(a, b),
        (B::Sub, a, b) => sub(a, b),
        (B::Mul, a, b) => mul(a, b),
        (B::Min, a, b) => min(a, b),
        (B::Max, a, b) => max(a, b),
        (B::Mod, e, m) if has_inner_remainder(&e, &m) => {
            binary(B::Mod, without_remainder(e, &m), m)
        }
        (B::Div, Expr::Int(x), Expr::Int(y)) if y > 0 => Expr::Int(x.div_euclid(y)),
        (B::Mod, Expr::Int(x), Expr::Int(y)) if y > 0 => Expr::Int(x.rem_euclid(y)),
        (B::Xor, Expr::Int(x @ 0..=1), Expr::Int(y @ 0..=1)) => Expr::Int(x ^ y),
        (B::Eq, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x == y),
        (B::Ne, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x != y),
        (B::Lt, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x < y),
        (B::Le, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x <= y),
        (B::Gt, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x > y),
        (B::Ge, Expr::Int(x), Expr::Int(y)) => Expr::Bool(x >= y),
        (B::And, Expr::Bool(true), e) | (B::And, e, Expr::Bool(true)) => e,
        (B::And, Expr::Bool(false), _) => Expr::Bool(false),
        (B::Or, Expr::Bool(false), e) | (B::Or, e, Expr::Bool(false)) => e,
        (B::Or, Expr::Bool(true), _) => Expr::Bool(true),
        (op, a, b) => Expr::binary(op, a, b),
    }
}

/// Whether a summand is itself a remainder by `modulus`, which changes nothing modulo `modulus`.
fn has_inner_remainder(expr: &Expr, modulus: &Expr) -> bool {
    match expr {
        Expr::Binary(BinaryOp::Mod, _, m) => **m == *modulus,
        Expr::Binary(BinaryOp::Add, a, b) => {
            has_inner_remainder(a, modulus) || has_inner_remainder(b, modulus)
        }
        _ => false,
    }
}

fn without_remainder(expr: Expr, modulus: &Expr) -> Expr {
    match expr {
        Expr::Binary(BinaryOp::Mod, inner, m) if *m == *modulus => *inner,
        Expr::Binary(BinaryOp::Add, a, b) => add(
            without_remainder(*a, modulus),
            without_remainder(*b, modulus),
        ),
        other => other,
    }
}

/// Rebuilds an expression with names and parameters replaced and literals folded. The right side
/// of `&&` and `||` keeps its guard, so an undefined operand stays guarded.
pub fn rewrite(
    expr: &Expr,
    vars: &dyn Fn(VarId) -> Option<Expr>,
    params: &dyn Fn(ParamId) -> Option<Expr>,
) -> Expr {
    let go = |e: &Expr| rewrite(e, vars, params);
    match expr {
        Expr::Int(_) | Expr::Bool(_) => expr.clone(),
        Expr::Param(id) => params(*id).unwrap_or_else(|| expr.clone()),
        Expr::Var(id) => vars(*id).unwrap_or_else(|| expr.clone()),
        Expr::Neg(e) => sub(Expr::Int(0), go(e)),
        Expr::Not(e) => not(go(e)),
        Expr::Binary(op, a, b) => binary(*op, go(a), go(b)),
        Expr::If(c, a, b) => choose(go(c), go(a), go(b)),
        Expr::Visits(p, at) => Expr::Visits(*p, at.iter().map(go).collect()),
        Expr::Count { var, lo, hi, body } => Expr::Count {
            var: *var,
            lo: Box::new(go(lo)),
            hi: Box::new(go(hi)),
            body: Box::new(go(body)),
        },
    }
}

/// Replaces names and parameters and folds nothing.
pub fn replace(
    expr: &Expr,
    vars: &dyn Fn(VarId) -> Option<Expr>,
    params: &dyn Fn(ParamId) -> Option<Expr>,
) -> Expr {
    let go = |e: &Expr| Box::new(replace(e, vars, params));
    match expr {
        Expr::Int(_) | Expr::Bool(_) => expr.clone(),
        Expr::Param(id) => params(*id).unwrap_or_else(|| expr.clone()),
        Expr::Var(id) => vars(*id).unwrap_or_else(|| expr.clone()),
        Expr::Neg(e) => Expr::Neg(go(e)),
        Expr::Not(e) => Expr::Not(go(e)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, go(a), go(b)),
        Expr::If(c, a, b) => Expr::If(go(c), go(a), go(b)),
        Expr::Visits(p, at) => Expr::Visits(*p, at.iter().map(|e| *go(e)).collect()),
        Expr::Count { var, lo, hi, body } => Expr::Count {
            var: *var,
            lo: go(lo),
            hi: go(hi),
            body: go(body),
        },
    }
}

/// Replaces names.
pub fn substitute(expr: &Expr, values: &HashMap<VarId, Expr>) -> Expr {
    rewrite(expr, &|v| values.get(&v).cloned(), &|_| None)
}

/// Replaces one name.
pub fn at(expr: &Expr, var: VarId, value: &Expr) -> Expr {
    rewrite(expr, &|v| (v == var).then(|| value.clone()), &|_| None)
}

/// Whether a name occurs.
pub fn mentions(expr: &Expr, var: VarId) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) => false,
        Expr::Var(id) => *id == var,
        Expr::Neg(e) | Expr::Not(e) => mentions(e, var),
        Expr::Binary(_, a, b) => mentions(a, var) || mentions(b, var),
        Expr::If(c, a, b) => mentions(c, var) || mentions(a, var) || mentions(b, var),
        Expr::Visits(_, at) => at.iter().any(|e| mentions(e, var)),
        Expr::Count { lo, hi, body, .. } => {
            mentions(lo, var) || mentions(hi, var) || mentions(body, var)
        }
    }
}

/// Whether a parameter occurs.
pub fn mentions_param(expr: &Expr, param: ParamId) -> bool {
    let go = |e: &Expr| mentions_param(e, param);
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) => false,
        Expr::Param(id) => *id == param,
        Expr::Neg(e) | Expr::Not(e) => go(e),
        Expr::Binary(_, a, b) => go(a) || go(b),
        Expr::If(c, a, b) => go(c) || go(a) || go(b),
        Expr::Visits(_, at) => at.iter().any(go),
        Expr::Count { lo, hi, body, .. } => go(lo) || go(hi) || go(body),
    }
}

/// `alpha * var + beta` with `alpha` an integer and `beta` free of `var`.
pub fn linear(expr: &Expr, var: VarId) -> Option<(i64, Expr)> {
    if !mentions(expr, var) {
        return Some((0, expr.clone()));
    }
    match expr {
        Expr::Var(_) => Some((1, Expr::Int(0))),
        Expr::Neg(e) => {
            let (alpha, beta) = linear(e, var)?;
            Some((alpha.checked_neg()?, sub(Expr::Int(0), beta)))
        }
        Expr::Binary(BinaryOp::Add, a, b) => {
            let ((p, x), (q, y)) = (linear(a, var)?, linear(b, var)?);
            Some((p.checked_add(q)?, add(x, y)))
        }
        Expr::Binary(BinaryOp::Sub, a, b) => {
            let ((p, x), (q, y)) = (linear(a, var)?, linear(b, var)?);
            Some((p.checked_sub(q)?, sub(x, y)))
        }
        Expr::Binary(BinaryOp::Mul, a, b) => match (&**a, &**b) {
            (Expr::Int(k), e) | (e, Expr::Int(k)) => {
                let (alpha, beta) = linear(e, var)?;
                Some((alpha.checked_mul(*k)?, mul(Expr::Int(*k), beta)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// How many of the numbers `0, 1, ..., n - 1` are congruent to `residue - shift` modulo `modulus`:
/// those `j` with `(j + shift) mod modulus = residue`. For `n >= 0`, `modulus >= 1` and
/// `0 <= residue < modulus`.
pub fn congruent(n: Expr, shift: Expr, modulus: &Expr, residue: &Expr) -> Expr {
    // (x + modulus - 1 - residue) div modulus counts the j in 0..x with j mod modulus = residue.
    let below = |x: Expr| {
        let lifted = add(x, sub(sub(modulus.clone(), Expr::Int(1)), residue.clone()));
        binary(BinaryOp::Div, lifted, modulus.clone())
    };
    if shift == Expr::Int(0) {
        return below(n);
    }
    sub(below(add(n, shift.clone())), below(shift))
}

/// `sum(f(j) for j in 0..n)` for `n >= 0`; `None` if it has no closed form here.
pub fn sum(f: &Expr, var: VarId, n: &Expr) -> Option<Expr> {
    if !mentions(f, var) {
        return Some(mul(n.clone(), f.clone()));
    }
    match f {
        Expr::Var(_) => {
            let product = mul(n.clone(), sub(n.clone(), Expr::Int(1)));
            Some(binary(BinaryOp::Div, product, Expr::Int(2)))
        }
        Expr::Neg(e) => Some(sub(Expr::Int(0), sum(e, var, n)?)),
        Expr::Binary(BinaryOp::Add, a, b) => Some(add(sum(a, var, n)?, sum(b, var, n)?)),
        Expr::Binary(BinaryOp::Sub, a, b) => Some(sub(sum(a, var, n)?, sum(b, var, n)?)),
        Expr::Binary(BinaryOp::Mul, a, b) if !mentions(a, var) => {
            Some(mul((**a).clone(), sum(b, var, n)?))
        }
        Expr::Binary(BinaryOp::Mul, a, b) if !mentions(b, var) => {
            Some(mul(sum(a, var, n)?, (**b).clone()))
        }
        Expr::If(c, a, b) if !mentions(c, var) => {
            Some(choose((**c).clone(), sum(a, var, n)?, sum(b, var, n)?))
        }
        Expr::Count { .. } => lengths::summed(f, var, n),
        Expr::If(c, a, b) if !mentions(a, var) && !mentions(b, var) => {
            let holds = count(c, var, n)?;
            let fails = sub(n.clone(), holds.clone());
            Some(add(mul(holds, (**a).clone()), mul(fails, (**b).clone())))
        }
        _ => None,
    }
}

/// A set of integers between two bounds, `lo` included and `hi` not; `None` is unbounded.
pub struct Interval {
    pub lo: Option<Expr>,
    pub hi: Option<Expr>,
}

/// How many `j` in `0..n` satisfy `condition`, for `n >= 0`.
pub fn count(condition: &Expr, var: VarId, n: &Expr) -> Option<Expr> {
    let none = Expr::Int(0);
    if !mentions(condition, var) {
        return Some(choose(condition.clone(), n.clone(), none));
    }
    match condition {
        Expr::Not(inner) => return Some(sub(n.clone(), count(inner, var, n)?)),
        Expr::Binary(BinaryOp::Ne, a, b) => {
            let equal = Expr::Binary(BinaryOp::Eq, a.clone(), b.clone());
            return Some(sub(n.clone(), count(&equal, var, n)?));
        }
        Expr::Binary(BinaryOp::Or, a, b) => {
            let neither = Expr::all([not((**a).clone()), not((**b).clone())]);
            return Some(sub(n.clone(), count(&neither, var, n)?));
        }
        Expr::Binary(BinaryOp::And, a, b) if !mentions(a, var) => {
            return Some(choose((**a).clone(), count(b, var, n)?, none));
        }
        Expr::Binary(BinaryOp::Eq, a, b) => {
            if let Some(counted) = count_residue(a, b, var, n) {
                return Some(counted);
            }
        }
        _ => {}
    }
    let Interval { lo, hi } = interval(condition, var)?;
    let lo = lo.map_or(none.clone(), |lo| max(none.clone(), lo));
    let hi = hi.map_or(n.clone(), |hi| min(n.clone(), hi));
    Some(max(none, sub(hi, lo)))
}

/// `(alpha * j + beta) mod m = r` for literal `m` and `r` and `alpha = 1`.
fn count_residue(a: &Expr, b: &Expr, var: VarId, n: &Expr) -> Option<Expr> {
    let (Expr::Binary(BinaryOp::Mod, inner, modulus), residue) = (a, b) else {
        return None;
    };
    let (Expr::Int(m), Expr::Int(r)) = (&**modulus, residue) else {
        return None;
    };
    let (1, shift) = linear(inner, var)? else {
        return None;
    };
    (*m >= 1 && (0..*m).contains(r)).then(|| congruent(n.clone(), shift, modulus, residue))
}

/// The values of `var` at which a condition holds, if they are an interval.
pub fn interval(condition: &Expr, var: VarId) -> Option<Interval> {
    use BinaryOp as B;
    let Expr::Binary(op, a, b) = condition else {
        return None;
    };
    if *op == B::And {
        let (x, y) = (interval(a, var)?, interval(b, var)?);
        let both = |x: Option<Expr>, y: Option<Expr>, join: fn(Expr, Expr) -> Expr| match (x, y) {
            (Some(x), Some(y)) => Some(join(x, y)),
            (x, y) => x.or(y),
        };
        return Some(Interval {
            lo: both(x.lo, y.lo, max),
            hi: both(x.hi, y.hi, min),
        });
    }
    // alpha * j + beta compared with 0.
    let (alpha, beta) = linear(&sub((**a).clone(), (**b).clone()), var)?;
    let op = match (alpha, op) {
        (1, op) => *op,
        (-1, B::Lt) => B::Gt,
        (-1, B::Le) => B::Ge,
        (-1, B::Gt) => B::Lt,
        (-1, B::Ge) => B::Le,
        (-1, B::Eq) => B::Eq,
        _ => return None,
    };
    let pivot = if alpha == 1 {
        sub(Expr::Int(0), beta)
    } else {
        beta
    };
    let next = add(pivot.clone(), Expr::Int(1));
    let (lo, hi) = match op {
        B::Lt => (None, Some(pivot)),
        B::Le => (None, Some(next)),
        B::Gt => (Some(next), None),
        B::Ge => (Some(pivot), None),
        B::Eq => (Some(pivot), Some(next)),
        _ => return None,
    };
    Some(Interval { lo, hi })
}

#[cfg(test)]
mod tests {
    use super::*;

    const J: VarId = VarId(0);

    fn value(expr: &Expr) -> i64 {
        match rewrite(expr, &|_| None, &|_| None) {
            Expr::Int(value) => value,
            other => panic!("not a literal: {other:?}"),
        }
    }

    fn truth(expr: &Expr) -> bool {
        rewrite(expr, &|_| None, &|_| None) == Expr::Bool(true)
    }

    /// Every closed form equals what adding up gives.
    #[test]
    fn counts_and_sums_equal_adding_up() {
        use BinaryOp as B;
        let j = || Expr::Var(J);
        let mut conditions = Vec::new();
        for k in -2..6 {
            for op in [B::Lt, B::Le, B::Gt, B::Ge, B::Eq, B::Ne] {
                conditions.push(binary(op, j(), Expr::Int(k)));
                conditions.push(binary(op, Expr::Int(k), j()));
                let residue = binary(B::Mod, add(j(), Expr::Int(k)), Expr::Int(3));
                conditions.push(binary(op, residue, Expr::Int(1)));
            }
        }
        let pairs: Vec<Expr> = conditions
            .windows(7)
            .flat_map(|w| {
                let (a, b) = (w[0].clone(), w[6].clone());
                [B::And, B::Or].map(|op| Expr::binary(op, a.clone(), b.clone()))
            })
            .collect();
        let mut closed = 0;
        for condition in conditions.iter().chain(&pairs) {
            for n in 0..7 {
                let Some(form) = count(condition, J, &Expr::Int(n)) else {
                    continue;
                };
                let expected = (0..n).filter(|x| truth(&at(condition, J, &Expr::Int(*x))));
                assert_eq!(value(&form), expected.count() as i64, "{condition:?} {n}");
                let weight = choose(condition.clone(), Expr::Int(5), Expr::Int(2));
                let form = sum(&add(weight.clone(), j()), J, &Expr::Int(n)).unwrap();
                let expected: i64 = (0..n)
                    .map(|x| value(&at(&weight, J, &Expr::Int(x))) + x)
                    .sum();
                assert_eq!(value(&form), expected, "{condition:?} {n}");
                closed += 1;
            }
        }
        assert!(closed > 1000, "{closed}");
    }
}
