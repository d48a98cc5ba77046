//! Translates expressions to polynomials and conditions to inequalities, with a case split for branches.
//!
//! Quotients and remainders are opaque, except for [`Bit::of`]. Divisors are assumed to be positive. That is an
//! obligation wherever a quotient is evaluated.

use std::collections::HashMap;

use itertools::Itertools;

use super::polynomial::Polynomial;
use super::polynomial::TooLarge;
use super::polynomial::Unknown;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// The meanings of names.
pub type Env = HashMap<VarId, Polynomial>;

/// Facts: each is at least 0.
pub type Facts = Vec<Polynomial>;

/// A value in each of several cases. One of the cases applies.
pub type Cases<T> = Vec<(Facts, T)>;

/// With more cases than this, an expression is not supported.
const MAX_CASES: usize = 32;

/// A number that does not fit is a construct that is not covered.
pub fn fits<T>(result: Result<T, TooLarge>) -> Result<T, Unsupported> {
    result.map_err(|TooLarge| Unsupported::whole("numbers as large as these"))
}

fn refused<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported::whole(what))
}

/// The value of an integer expression.
///
/// # Errors
///
/// A part that is not a polynomial.
pub fn value(expr: &Expr, env: &Env) -> Result<Cases<Polynomial>, Unsupported> {
    match expr {
        Expr::Int(value) => Ok(certainly(Polynomial::number(i128::from(*value)))),
        Expr::Param(id) => Ok(certainly(Polynomial::unknown(Unknown::Param(id.0)))),
        Expr::Var(var) => match env.get(var) {
            Some(known) => Ok(certainly(known.clone())),
            None => refused("a variable without a closed form"),
        },
        Expr::Neg(e) => each(value(e, env)?, |x| Polynomial::default().plus(-1, &x)),
        Expr::If(condition, a, b) => {
            let mut all = Vec::new();
            for (truth, branch) in [(true, a), (false, b)] {
                let taken = holds(condition, env, truth)?;
                for facts in taken {
                    for (more, x) in value(branch, env)? {
                        all.push(([facts.clone(), more].concat(), x));
                    }
                }
            }
            few(all)
        }
        Expr::Binary(op, a, b) => match (op, &**b) {
            (BinaryOp::Div, Expr::Int(1)) => value(a, env),
            (BinaryOp::Mod, Expr::Int(1)) => Ok(certainly(Polynomial::default())),
            // The quotient and the remainder of 0 by a positive divisor are 0.
            (BinaryOp::Div | BinaryOp::Mod, _) if **a == Expr::Int(0) => {
                Ok(certainly(Polynomial::default()))
            }
            _ => binary(*op, value(a, env)?, value(b, env)?),
        },
        Expr::Bool(_) | Expr::Not(_) | Expr::Visits(..) | Expr::Count { .. } => {
            refused("such an expression")
        }
    }
}

fn binary(
    op: BinaryOp,
    left: Cases<Polynomial>,
    right: Cases<Polynomial>,
) -> Result<Cases<Polynomial>, Unsupported> {
    let mut all = Vec::new();
    for (facts, a) in &left {
        for (more, b) in &right {
            let facts = [facts.clone(), more.clone()].concat();
            let difference = fits(a.plus(-1, b))?;
            // If both are equal, the value that is not a number is taken, because it says more.
            let (ties, less_ties) = match b.value() {
                Some(_) => (0, -1),
                None => (-1, 0),
            };
            let mut chosen = |greater: &Polynomial, other: &Polynomial| {
                let first = fits(difference.plus(ties, &Polynomial::number(1)))?;
                let less = fits(Polynomial::default().plus(-1, &difference))?;
                let second = fits(less.plus(less_ties, &Polynomial::number(1)))?;
                all.push(([facts.clone(), vec![first]].concat(), greater.clone()));
                all.push(([facts.clone(), vec![second]].concat(), other.clone()));
                Ok(())
            };
            match op {
                BinaryOp::Add => all.push((facts, fits(a.plus(1, b))?)),
                BinaryOp::Sub => all.push((facts, difference)),
                BinaryOp::Mul => all.push((facts, fits(a.times(b))?)),
                BinaryOp::Max => chosen(a, b)?,
                BinaryOp::Min => chosen(b, a)?,
                _ => return refused("a quotient or remainder in such a place"),
            }
        }
    }
    few(all)
}

fn certainly<T>(one: T) -> Cases<T> {
    vec![(Vec::new(), one)]
}

fn each(
    cases: Cases<Polynomial>,
    map: impl Fn(Polynomial) -> Result<Polynomial, TooLarge>,
) -> Result<Cases<Polynomial>, Unsupported> {
    let map = |(facts, x)| Ok((facts, fits(map(x))?));
    cases.into_iter().map(map).collect()
}

/// The cases without those that cannot occur.
fn few<T>(mut all: Cases<T>) -> Result<Cases<T>, Unsupported> {
    all.retain(|(facts, _)| possible(facts));
    match all.len() {
        ..=MAX_CASES => Ok(all),
        _ => refused("so many cases"),
    }
}

/// Whether facts may hold at the same time. They cannot if one of them, or the sum of two, says that a negative
/// number is at least 0. For example, `p + a >= 0` and `b - p >= 0` say this if `a + b` is below 0. Facts are reduced
/// first: `3 - 8 * i >= 0` becomes `-i >= 0`.
pub(super) fn possible(facts: &[Polynomial]) -> bool {
    let mut least: HashMap<Polynomial, i128> = HashMap::new();
    for fact in facts {
        // A fact that cannot be reduced is ignored here.
        let Some((part, number)) = fact.reduced() else {
            continue;
        };
        if part.value() == Some(0) && number < 0 {
            return false;
        }
        let known = least.entry(part).or_insert(number);
        *known = number.min(*known);
    }
    let contrary = |(part, number): (&Polynomial, &i128)| {
        let other = Polynomial::default().plus(-1, part).ok();
        let other = other.and_then(|other| least.get(&other));
        let sum = other.and_then(|other| number.checked_add(*other));
        sum.is_some_and(|sum| sum < 0)
    };
    !least.iter().any(contrary)
}

/// The cases in which a condition is true (or false, if `truth` is false): then at least one of them applies.
///
/// # Errors
///
/// A part that is not a comparison of polynomials.
pub fn holds(condition: &Expr, env: &Env, truth: bool) -> Result<Vec<Facts>, Unsupported> {
    use BinaryOp as B;
    let all = match condition {
        Expr::Bool(value) if *value == truth => vec![Vec::new()],
        Expr::Bool(_) => Vec::new(),
        Expr::Not(e) => holds(e, env, !truth)?,
        Expr::Binary(op @ (B::And | B::Or), a, b) => {
            let (left, right) = (holds(a, env, truth)?, holds(b, env, truth)?);
            match (*op == B::And) == truth {
                true => pairs(&left, &right),
                false => [left, right].concat(),
            }
        }
        Expr::Binary(op, a, b) => {
            let mut all = Vec::new();
            for (facts, difference) in binary(B::Sub, value(a, env)?, value(b, env)?)? {
                let op = if truth { *op } else { negated(*op)? };
                // For each way: the sign times `a - b`, plus the number, is at least 0.
                let ways: &[&[(i128, i128)]] = match op {
                    B::Lt => &[&[(-1, -1)]],
                    B::Le => &[&[(-1, 0)]],
                    B::Gt => &[&[(1, -1)]],
                    B::Ge => &[&[(1, 0)]],
                    B::Eq => &[&[(1, 0), (-1, 0)]],
                    B::Ne => &[&[(1, -1)], &[(-1, -1)]],
                    _ => return refused("such a condition"),
                };
                for way in ways {
                    let mut facts = facts.clone();
                    for (sign, plus) in *way {
                        facts.push(fits(Polynomial::number(*plus).plus(*sign, &difference))?);
                    }
                    all.push(facts);
                }
            }
            all
        }
        Expr::If(condition, a, b) => {
            let mut all = Vec::new();
            for (taken, branch) in [(true, a), (false, b)] {
                all.extend(pairs(
                    &holds(condition, env, taken)?,
                    &holds(branch, env, truth)?,
                ));
            }
            all
        }
        _ => return refused("such a condition"),
    };
    let all = all.into_iter().map(|facts| (facts, ())).collect();
    Ok(few(all)?.into_iter().map(|(facts, ())| facts).collect())
}

fn pairs(left: &[Facts], right: &[Facts]) -> Vec<Facts> {
    let pairs = left.iter().cartesian_product(right);
    pairs
        .map(|(a, b)| [a.clone(), b.clone()].concat())
        .collect()
}

fn negated(op: BinaryOp) -> Result<BinaryOp, Unsupported> {
    use BinaryOp as B;
    Ok(match op {
        B::Lt => B::Ge,
        B::Le => B::Gt,
        B::Gt => B::Le,
        B::Ge => B::Lt,
        B::Eq => B::Ne,
        B::Ne => B::Eq,
        _ => return refused("such a condition"),
    })
}

/// A number that is 0 or 1: the remainder of a sum modulo 2.
#[derive(Debug, Clone, PartialEq)]
pub struct Bit {
    /// A summand.
    pub sum: Polynomial,
    /// Another one: a quotient, rounded down, of a dividend by a divisor.
    pub quotient: Option<(Polynomial, Polynomial)>,
}

impl Bit {
    /// The bit that an expression is, by cases. `None` if the form of the expression does not show that it is a bit.
    pub fn of(expr: &Expr, env: &Env) -> Option<Cases<Bit>> {
        match expr {
            Expr::Int(0 | 1) => Bit::sum(expr, env),
            Expr::Binary(BinaryOp::Mod, e, two) if **two == Expr::Int(2) => Bit::sum(e, env),
            Expr::Binary(BinaryOp::Xor, a, b) => both(1, &Bit::of(a, env)?, &Bit::of(b, env)?),
            Expr::Binary(BinaryOp::Sub, one, b) if **one == Expr::Int(1) => {
                both(-1, &Bit::of(one, env)?, &Bit::of(b, env)?)
            }
            _ => None,
        }
    }

    /// The remainder by 2 of any integer.
    fn sum(expr: &Expr, env: &Env) -> Option<Cases<Bit>> {
        match expr {
            Expr::Binary(BinaryOp::Add, a, b) => both(1, &Bit::sum(a, env)?, &Bit::sum(b, env)?),
            Expr::Binary(BinaryOp::Sub, a, b) => both(-1, &Bit::sum(a, env)?, &Bit::sum(b, env)?),
            Expr::Binary(BinaryOp::Mod, e, two) if **two == Expr::Int(2) => Bit::sum(e, env),
            Expr::Binary(BinaryOp::Xor, ..) => Bit::of(expr, env),
            Expr::Binary(BinaryOp::Div, a, b) if **b != Expr::Int(1) => {
                let (over, under) = (value(a, env).ok()?, value(b, env).ok()?);
                let mut all = Vec::new();
                for ((facts, over), (more, under)) in over.iter().cartesian_product(&under) {
                    let quotient = Some((over.clone(), under.clone()));
                    all.push((
                        [facts.clone(), more.clone()].concat(),
                        Bit {
                            sum: Polynomial::default(),
                            quotient: quotient.filter(|(over, _)| over.value() != Some(0)),
                        },
                    ));
                }
                few(all).ok()
            }
            _ => {
                let bit = |sum| Bit {
                    sum,
                    quotient: None,
                };
                let all = value(expr, env).ok()?.into_iter();
                Some(all.map(|(facts, sum)| (facts, bit(sum))).collect())
            }
        }
    }

    fn plus(&self, times: i128, other: &Bit) -> Option<Bit> {
        Some(Bit {
            sum: self.sum.plus(times, &other.sum).ok()?,
            // The remainder of an integer modulo 2 does not depend on its sign.
            quotient: match (&self.quotient, &other.quotient) {
                (Some(_), Some(_)) => return None,
                (a, b) => a.clone().or(b.clone()),
            },
        })
    }
}

/// The sum, or the difference, of two bits.
fn both(times: i128, left: &Cases<Bit>, right: &Cases<Bit>) -> Option<Cases<Bit>> {
    let mut all = Vec::new();
    for ((facts, a), (more, b)) in left.iter().cartesian_product(right) {
        all.push(([facts.clone(), more.clone()].concat(), a.plus(times, b)?));
    }
    few(all).ok()
}
