//! Loops whose length is an unknown function of the iteration of a loop around them: the number of
//! entries in a row of a pattern, tile by tile.
//!
//! Such a length is `f(v)`, where `v` is the number of the outer iteration and `f` counts something
//! that the input decides. How many inner iterations there have been after `n` outer ones is the
//! *sum* `f(0) + ... + f(n - 1)`. Both are written here as a count whose body is not a truth value
//! but the number `f(x)`, over the name [`ITERATION`]: from `v` to `v + 1`, and from 0 to `n`.
//!
//! The same is done to lengths that do have closed sums, such as those of a triangle, if a protocol
//! has no closed forms otherwise.
//!
//! The solver is told nothing about `f` except that it is never negative: a sum is the difference
//! of a function that does not decrease
//! ([`Translator`](crate::certificate::translate::Translator)). There is one such function for each
//! text of `f`. If this text is `min(m, g)`, the solver is told more: at every step the sum grows
//! by no more than `m`, and by no more than the sum of the `g`; and, if `m` is at least 1, it grows
//! wherever that one grows. So what is proved holds for all lengths. Roles that go by the same text
//! agree on them.

use super::algebra;
use crate::certificate::exact;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// The name that the terms of a sum are over.
pub const ITERATION: VarId = VarId(usize::MAX / 2 - 2);

/// What the first counted name inside a term of a sum becomes, so that equal terms have equal texts.
const COUNTED: usize = usize::MAX / 2 - 40;

/// How deep counts may be nested in a term.
const MAX_NESTED: usize = 8;

/// The number of iterations of a loop, never negative, if it is a function of the number of one of
/// the loops around and only the input knows this function. With `any`, whatever function it is.
/// `None` otherwise.
pub fn length(length: &Expr, around: &[VarId], any: bool) -> Option<Expr> {
    if !any && !has_count(length) {
        return None;
    }
    let mut mentioned = around.iter().filter(|v| algebra::mentions(length, **v));
    let (var, None) = (*mentioned.next()?, mentioned.next()) else {
        return None;
    };
    let term = algebra::at(length, var, &Expr::Var(ITERATION));
    let term = canonical(&term, 0)?;
    let next = algebra::add(Expr::Var(var), Expr::Int(1));
    Some(sum(Expr::Var(var), next, term))
}

/// The sum of a term over the iterations from one to another that is not included.
fn sum(lo: Expr, hi: Expr, term: Expr) -> Expr {
    Expr::Count {
        var: ITERATION,
        lo: Box::new(lo),
        hi: Box::new(hi),
        body: Box::new(term),
    }
}

/// The sum of a length over the iterations of the loop it depends on, for `n >= 0`.
pub fn summed(length: &Expr, var: VarId, n: &Expr) -> Option<Expr> {
    let Expr::Count {
        var: ITERATION,
        lo,
        hi,
        body,
    } = length
    else {
        return None;
    };
    let (1, from) = algebra::linear(lo, var)? else {
        return None;
    };
    // One term: from `lo` to `lo + 1`.
    let one = algebra::linear(hi, var)? == (1, algebra::add(from.clone(), Expr::Int(1)));
    let still = !algebra::mentions(body, var);
    (one && still).then(|| {
        sum(
            from.clone(),
            algebra::add(n.clone(), from),
            (**body).clone(),
        )
    })
}

/// The number and the length of which a term of a sum is the minimum, if its text says so.
pub fn least(term: &Expr) -> Option<(i64, &Expr)> {
    let Expr::Binary(BinaryOp::Min, a, b) = term else {
        return None;
    };
    match (&**a, &**b) {
        (Expr::Int(most), of) | (of, Expr::Int(most)) if *most >= 0 => Some((*most, of)),
        _ => None,
    }
}

fn has_count(expr: &Expr) -> bool {
    match expr {
        Expr::Count { .. } => true,
        Expr::Neg(e) | Expr::Not(e) => has_count(e),
        Expr::Binary(_, a, b) => has_count(a) || has_count(b),
        Expr::If(c, a, b) => has_count(c) || has_count(a) || has_count(b),
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) | Expr::Visits(..) => false,
    }
}

/// The same, with counted names that only say how deep they are nested.
fn canonical(expr: &Expr, depth: usize) -> Option<Expr> {
    let go = |e: &Expr| canonical(e, depth);
    let boxed = |e: &Expr| go(e).map(Box::new);
    Some(match expr {
        Expr::Count { var, lo, hi, body } => {
            if depth >= MAX_NESTED || *var == ITERATION {
                return None;
            }
            let name = VarId(exact::together(COUNTED, depth));
            let body = algebra::at(body, *var, &Expr::Var(name));
            Expr::Count {
                var: name,
                lo: boxed(lo)?,
                hi: boxed(hi)?,
                body: Box::new(canonical(&body, exact::next(depth))?),
            }
        }
        Expr::Neg(e) => Expr::Neg(boxed(e)?),
        Expr::Not(e) => Expr::Not(boxed(e)?),
        Expr::Binary(op, a, b) => Expr::binary(*op, go(a)?, go(b)?),
        Expr::If(c, a, b) => Expr::If(boxed(c)?, boxed(a)?, boxed(b)?),
        Expr::Visits(pattern, at) => {
            let at = at.iter().map(go).collect::<Option<Vec<Expr>>>()?;
            Expr::Visits(*pattern, at)
        }
        Expr::Int(_) | Expr::Bool(_) | Expr::Param(_) | Expr::Var(_) => expr.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PatternId;

    /// How many entries a row has, counted by this name.
    fn row(counted: usize, of: Expr) -> Expr {
        let at = vec![of, Expr::Var(VarId(counted))];
        Expr::Count {
            var: VarId(counted),
            lo: Box::new(Expr::Int(0)),
            hi: Box::new(Expr::Int(9)),
            body: Box::new(Expr::Visits(PatternId(0), at)),
        }
    }

    #[test]
    fn lengths_that_read_alike_are_one_function() {
        let outer = VarId(1);
        let number = || Expr::Var(outer);
        let one = length(&row(5, number()), &[VarId(0), outer], false).unwrap();
        let same = length(&row(6, number()), &[outer], false).unwrap();
        assert_eq!(one, same);
        let next = algebra::add(number(), Expr::Int(1));
        assert_ne!(length(&row(5, next), &[outer], false), Some(one.clone()));
        let first = summed(&one, outer, &Expr::Int(3)).unwrap();
        assert_eq!(summed(&first, outer, &Expr::Int(3)), None);
        let Expr::Count { lo, hi, .. } = first else {
            panic!()
        };
        assert_eq!((*lo, *hi), (Expr::Int(0), Expr::Int(3)));
    }

    #[test]
    fn what_looks_at_two_loops_is_no_length() {
        let (a, b) = (VarId(1), VarId(2));
        let two = algebra::add(row(5, Expr::Var(a)), row(5, Expr::Var(b)));
        assert_eq!(length(&two, &[a, b], true), None);
        assert_eq!(length(&Expr::Var(a), &[a], false), None);
        assert!(length(&Expr::Var(a), &[a], true).is_some());
    }
}
