//! Decides whether two expressions are the same number, as far as their forms show it.
//!
//! An index that drops by its modulus when it has grown to it is a remainder by it. Let `m >= 1` and `c` be in `0..=m`,
//! and `r = x mod m`. Since `r` is in `0..m`, `r + c` is in `0..2 * m`. Where `r + c >= m`, `(x + c) mod m = r + c - m` and
//! `(x + c) div m = x div m + 1`. Elsewhere `(x + c) mod m = r + c` and `(x + c) div m = x div m`. That `c` is in `0..=m` is to
//! be shown, unless it is 1. Where `c` is 1, `r + 1 >= m` says that `r + 1 = m`.
//!
//! A number in `0..m` is its own remainder by `m`, and its quotient is 0.

use itertools::Itertools;

use super::cases;
use super::cases::Bit;
use super::cases::Cases;
use super::cases::Env;
use super::cases::fits;
use super::polynomial::Polynomial;
use super::positivity::Sequent;
use super::scene::Scene;
use crate::certificate::program::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// The most indices of one expression whose wraps are distinguished.
const MAX_WRAPS: usize = 4;

/// The conditions under which two expressions are equal. Their divisors have to be positive.
///
/// # Errors
///
/// A part that is not a polynomial.
pub fn equal(scene: &Scene, env: &Env, a: &Expr, b: &Expr) -> Result<Vec<Sequent>, Unsupported> {
    equal_by(scene, env, a, b, MAX_WRAPS)
}

fn equal_by(
    scene: &Scene,
    env: &Env,
    a: &Expr,
    b: &Expr,
    wraps: usize,
) -> Result<Vec<Sequent>, Unsupported> {
    if a == b {
        return Ok(Vec::new());
    }
    let bits = Bit::of(a, env).zip(Bit::of(b, env));
    if let Some((a, b)) = &bits
        && a.len() == 1
        && b.len() == 1
    {
        return same_bits(scene, a, b);
    }
    if let Some(wraps) = wraps.checked_sub(1)
        && let remainder = remainder(wraps)
        && let Some(wrap) = wrap(a, env, remainder).or_else(|| wrap(b, env, remainder))
    {
        let mut scene = scene.clone();
        let mut all = wrap.fits(&scene, env)?;
        // The remainder itself is some integer.
        let mut env = env.clone();
        env.insert(wrap.remainder, scene.any());
        for wrapped in [true, false] {
            let (a, b) = (wrap.taken(a, &env, wrapped), wrap.taken(b, &env, wrapped));
            all.extend(equal_by(&scene, &env, &a, &b, wraps)?);
        }
        return Ok(all);
    }
    if let Some((a, b)) = &bits {
        return same_bits(scene, a, b);
    }
    for (whole, other) in [(a, b), (b, a)] {
        if let Expr::Binary(BinaryOp::Mod, x, m) = whole {
            let mut all = below(scene, env, x, m)?;
            all.extend(equal_by(scene, env, x, other, wraps)?);
            return Ok(all);
        }
    }
    let difference = Expr::binary(BinaryOp::Sub, a.clone(), b.clone());
    let mut all = Vec::new();
    for (scene, difference) in scene.value(&difference, env)? {
        if difference != Polynomial::default() {
            all.push(scene.shows(difference.clone()));
            all.push(scene.shows(fits(Polynomial::default().plus(-1, &difference))?));
        }
    }
    Ok(all)
}

/// That a number is in `0..m`.
fn below(scene: &Scene, env: &Env, x: &Expr, m: &Expr) -> Result<Vec<Sequent>, Unsupported> {
    let left = Expr::binary(BinaryOp::Sub, m.clone(), x.clone());
    let left = Expr::binary(BinaryOp::Sub, left, Expr::Int(1));
    let mut all = Vec::new();
    for bound in [x, &left] {
        for (scene, bound) in scene.value(bound, env)? {
            all.push(scene.shows(bound));
        }
    }
    Ok(all)
}

/// A name for the remainder by the modulus of the index that wraps next, if so many others may. No variable of a protocol has it.
fn remainder(wraps: usize) -> VarId {
    VarId(usize::MAX.checked_sub(wraps).unwrap_or(usize::MAX))
}

/// A condition `x mod m + by >= m`, or that this is not so.
struct Wrap {
    condition: Expr,
    /// Whether the index wraps where the condition holds.
    holds: bool,
    x: Expr,
    modulus: Expr,
    by: Expr,
    /// The same as a polynomial.
    step: Polynomial,
    /// What stands for `x mod m`.
    remainder: VarId,
}

/// The first branch that depends on whether an index wraps.
fn wrap(expr: &Expr, env: &Env, remainder: VarId) -> Option<Wrap> {
    let inside = |e: &Expr| wrap(e, env, remainder);
    match expr {
        Expr::If(condition, a, b) => Wrap::of(condition, env, remainder)
            .or_else(|| inside(a))
            .or_else(|| inside(b)),
        Expr::Binary(_, a, b) => inside(a).or_else(|| inside(b)),
        Expr::Neg(e) => inside(e),
        _ => None,
    }
}

/// A value that has no cases.
fn only(e: &Expr, env: &Env) -> Option<Polynomial> {
    match &cases::value(e, env).ok()?[..] {
        [(facts, value)] if facts.is_empty() => Some(value.clone()),
        _ => None,
    }
}

impl Wrap {
    fn of(condition: &Expr, env: &Env, remainder: VarId) -> Option<Wrap> {
        use BinaryOp as B;
        let Expr::Binary(op, left, right) = condition else {
            return None;
        };
        let (holds, exactly) = match op {
            B::Ge => (true, false),
            B::Lt => (false, false),
            B::Eq => (true, true),
            B::Ne => (false, true),
            _ => return None,
        };
        let (index, plus) = match &**left {
            Expr::Binary(B::Add, index, plus) => (&**index, (**plus).clone()),
            index => (index, Expr::Int(0)),
        };
        let Expr::Binary(B::Mod, x, modulus) = index else {
            return None;
        };
        // `x mod m + plus >= right` says that `x mod m + by >= m`.
        let by = Expr::binary(B::Sub, (**modulus).clone(), (**right).clone());
        let by = Expr::binary(B::Add, by, plus);
        let step = only(&by, env)?;
        if exactly && step != Polynomial::number(1) {
            return None;
        }
        Some(Wrap {
            condition: condition.clone(),
            holds,
            x: (**x).clone(),
            modulus: (**modulus).clone(),
            by,
            step,
            remainder,
        })
    }

    /// That the index grows by no less than 0 and no more than its modulus.
    fn fits(&self, scene: &Scene, env: &Env) -> Result<Vec<Sequent>, Unsupported> {
        if self.step == Polynomial::number(1) {
            return Ok(Vec::new());
        }
        let left = Expr::binary(BinaryOp::Sub, self.modulus.clone(), self.by.clone());
        let mut all = vec![scene.shows(self.step.clone())];
        for (scene, left) in scene.value(&left, env)? {
            all.push(scene.shows(left));
        }
        Ok(all)
    }

    /// An expression where the index wraps, or where it does not.
    fn taken(&self, expr: &Expr, env: &Env, wrapped: bool) -> Expr {
        let go = |e: &Expr| Box::new(self.taken(e, env, wrapped));
        match expr {
            Expr::If(condition, a, b) if **condition == self.condition => {
                *go(if wrapped == self.holds { a } else { b })
            }
            Expr::If(condition, a, b) => Expr::If(condition.clone(), go(a), go(b)),
            Expr::Binary(BinaryOp::Mod, y, m) if **m == self.modulus && **y == self.x => {
                Expr::Var(self.remainder)
            }
            Expr::Binary(op @ (BinaryOp::Mod | BinaryOp::Div), y, m)
                if **m == self.modulus && self.next(y, env) =>
            {
                let quotient = Expr::binary(BinaryOp::Div, self.x.clone(), self.modulus.clone());
                let grown = Expr::binary(BinaryOp::Add, Expr::Var(self.remainder), self.by.clone());
                match (op, wrapped) {
                    // It has grown by 1 to its modulus.
                    (BinaryOp::Mod, true) if self.step == Polynomial::number(1) => Expr::Int(0),
                    (BinaryOp::Mod, true) => {
                        Expr::binary(BinaryOp::Sub, grown, self.modulus.clone())
                    }
                    (BinaryOp::Mod, false) => grown,
                    (_, false) => quotient,
                    (_, true) => Expr::binary(BinaryOp::Add, quotient, Expr::Int(1)),
                }
            }
            Expr::Binary(op, a, b) => Expr::Binary(*op, go(a), go(b)),
            Expr::Neg(e) => Expr::Neg(go(e)),
            other => other.clone(),
        }
    }

    /// Whether this is `x + by`.
    fn next(&self, y: &Expr, env: &Env) -> bool {
        let difference = Expr::binary(BinaryOp::Sub, y.clone(), self.x.clone());
        let Ok(cases) = cases::value(&difference, env) else {
            return false;
        };
        !cases.is_empty() && cases.iter().all(|(_, apart)| *apart == self.step)
    }
}

/// Whether the forms of two bits show that they are the same.
fn same_bit(a: &Bit, b: &Bit) -> Result<bool, Unsupported> {
    let (a, b) = (whole(a)?, whole(b)?);
    let mut sum = fits(a.sum.plus(-1, &b.sum))?;
    match (&a.quotient, &b.quotient) {
        (None, None) => {}
        (Some(left), Some(right)) => {
            let Some(apart) = quotients_apart(left, right)? else {
                return Ok(false);
            };
            sum = fits(sum.plus(1, &apart))?;
        }
        _ => return Ok(false),
    }
    Ok(sum.is_even())
}

/// The difference of two quotients, rounded down, if their forms show it. For a bit, the sign of the difference does
/// not matter. The difference is `q` for `(a + q * m) div m` and `a div m`. It is also `q` for `(c * a + r + q * c *
/// m) div (c * m)` and `a div m`, where `r` is in `0..c`.
fn quotients_apart(
    left: &(Polynomial, Polynomial),
    right: &(Polynomial, Polynomial),
) -> Result<Option<Polynomial>, Unsupported> {
    if left.1 == right.1 {
        return rounds(&fits(left.0.plus(-1, &right.0))?, &left.1);
    }
    for ((of, by), (other, less)) in [(left, right), (right, left)] {
        let Some((times, rest)) = by.split(less) else {
            continue;
        };
        let (Some(times @ 1..), Some(0)) = (times.value(), rest.value()) else {
            continue;
        };
        let scaled = fits(Polynomial::default().plus(times, other))?;
        let Some((rounds, rest)) = fits(of.plus(-1, &scaled))?.split(by) else {
            continue;
        };
        if rest.value().is_some_and(|rest| (0..times).contains(&rest)) {
            return Ok(Some(rounds));
        }
    }
    Ok(None)
}

/// The dividend, if the form of an index shows that the index is a remainder by an extent: `x` for `x mod extent`,
/// and `c * x + b` for `c * (x mod m) + b` with `c * m = extent` and `b` in `0..c`. Extents are positive.
pub fn dividend(index: &Expr, extent: &Expr) -> Option<Expr> {
    use BinaryOp as B;
    if let Expr::Binary(B::Mod, x, modulus) = index
        && **modulus == *extent
    {
        return Some((**x).clone());
    }
    let (scaled, plus) = match index {
        Expr::Binary(B::Add, a, b) => match (&**a, &**b) {
            (scaled, Expr::Int(plus)) | (Expr::Int(plus), scaled) => (scaled, *plus),
            _ => return None,
        },
        index => (index, 0),
    };
    let Expr::Binary(B::Mul, a, b) = scaled else {
        return None;
    };
    let (times, inner) = match (&**a, &**b) {
        (Expr::Int(times), inner) | (inner, Expr::Int(times)) => (*times, inner),
        _ => return None,
    };
    let Expr::Binary(B::Mod, x, modulus) = inner else {
        return None;
    };
    let scale = |x: &Expr| Expr::binary(B::Mul, Expr::Int(times), x.clone());
    let none = Env::new();
    let whole = only(&scale(modulus), &none)? == only(extent, &none)?;
    (whole && (0..times).contains(&plus)).then(|| Expr::binary(B::Add, scale(x), Expr::Int(plus)))
}

/// The same bit, in which the whole part of the quotient is moved to the sum. For `m >= 1`, `(q * m + r) div m = q +
/// r div m`. If `r` is a number in `0..m`, this is `q`.
fn whole(bit: &Bit) -> Result<Bit, Unsupported> {
    let split =
        |(over, under): &(Polynomial, Polynomial)| Some((over.split(under)?, under.clone()));
    let Some(((rounds, rest), under)) = bit.quotient.as_ref().and_then(split) else {
        return Ok(bit.clone());
    };
    let inside = match (rest.value(), under.value()) {
        (Some(0), _) => true,
        (Some(rest), Some(under)) => (0..under).contains(&rest),
        _ => false,
    };
    Ok(Bit {
        sum: fits(bit.sum.plus(1, &rounds))?,
        quotient: (!inside).then_some((rest, under)),
    })
}

/// The most rounds between an index and the number that it stands for.
const MAX_ROUNDS: i128 = 4;

/// The quotient of a number by the size of a ring, if the form of the number shows that it is an integer for all
/// values of the unknowns.
pub fn rounds(apart: &Polynomial, size: &Polynomial) -> Result<Option<Polynomial>, Unsupported> {
    if let Some((rounds, rest)) = apart.split(size)
        && rest == Polynomial::default()
    {
        return Ok(Some(rounds));
    }
    // If the size is a sum, only small multiples of it are recognised.
    for (rounds, back) in (-MAX_ROUNDS..=MAX_ROUNDS).zip((-MAX_ROUNDS..=MAX_ROUNDS).rev()) {
        if fits(apart.plus(back, size))? == Polynomial::default() {
            return Ok(Some(Polynomial::number(rounds)));
        }
    }
    Ok(None)
}

/// A multiple of the size of a ring, and the rest. If the rest is 0, the number is that multiple of the size. The
/// form of the rest need not show that it is 0: for example, it may be `K * i - i` where `K` is 1.
pub fn left(apart: &Polynomial, size: &Polynomial) -> Result<(i128, Polynomial), Unsupported> {
    let number = apart.number_in();
    let rounds = match size.value() {
        Some(size @ 1..) if number.checked_rem(size) == Some(0) => number.checked_div(size),
        _ => None,
    };
    let rounds = rounds.unwrap_or(0);
    let back = fits(Polynomial::default().plus(rounds, size))?;
    Ok((rounds, fits(apart.plus(-1, &back))?))
}

/// The obligations that bits are the same in every case. If their forms do not show it, either their sums have to be
/// the same number, or the case must not occur.
fn same_bits(
    scene: &Scene,
    left: &Cases<Bit>,
    right: &Cases<Bit>,
) -> Result<Vec<Sequent>, Unsupported> {
    let mut all = Vec::new();
    for ((facts, a), (more, b)) in left.iter().cartesian_product(right) {
        if !same_bit(a, b)? {
            let there = scene.with([facts.clone(), more.clone()].concat());
            match same_if_0(a, b)? {
                Some(apart) => {
                    all.push(there.shows(apart.clone()));
                    all.push(there.shows(fits(Polynomial::default().plus(-1, &apart))?));
                }
                None => match quotient_if_0(a, b)? {
                    Some((over, under)) => {
                        let left = fits(under.plus(-1, over))?;
                        all.push(there.shows(over.clone()));
                        all.push(there.shows(fits(left.less(1))?));
                    }
                    None => all.push(there.shows(Polynomial::number(-1))),
                },
            }
        }
    }
    Ok(all)
}

/// A number such that two bits are the same if it is 0. For example, `x div m` and `y div m` are `c` apart if `x - y
/// = c * m`.
fn same_if_0(a: &Bit, b: &Bit) -> Result<Option<Polynomial>, Unsupported> {
    let sums = fits(a.sum.plus(-1, &b.sum))?;
    Ok(match (&a.quotient, &b.quotient) {
        (None, None) => Some(sums),
        (Some((x, m)), Some((y, n))) if m == n => {
            let (rounds, rest) = left(&fits(x.plus(-1, y))?, m)?;
            let apart = fits(sums.plus(1, &Polynomial::number(rounds)))?;
            apart.is_even().then_some(rest)
        }
        _ => None,
    })
}

/// A quotient such that two bits are the same where it is 0.
fn quotient_if_0<'b>(
    a: &'b Bit,
    b: &'b Bit,
) -> Result<Option<&'b (Polynomial, Polynomial)>, Unsupported> {
    let only = match (&a.quotient, &b.quotient) {
        (Some(only), None) | (None, Some(only)) => only,
        _ => return Ok(None),
    };
    let even = fits(a.sum.plus(-1, &b.sum))?.is_even();
    Ok(even.then_some(only))
}

/// That a parity is that of the rounds that an arrival's number makes: of `number div size`.
pub fn parity(
    scene: &Scene,
    parity: &Expr,
    env: &Env,
    number: &Polynomial,
    size: &Polynomial,
) -> Result<Vec<Sequent>, Unsupported> {
    let Some(bits) = Bit::of(parity, env) else {
        return Ok(vec![scene.shows(Polynomial::number(-1))]);
    };
    let wanted = match size.value() {
        Some(1) => Bit {
            sum: number.clone(),
            quotient: None,
        },
        _ => Bit {
            sum: Polynomial::default(),
            quotient: Some((number.clone(), size.clone())),
        },
    };
    same_bits(scene, &bits, &vec![(Vec::new(), wanted)])
}
