//! Integer polynomials over parameters and opaque expressions.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::algebra;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;

/// A polynomial in expanded form. Two expressions with equal polynomials have equal values; the
/// converse may fail, since what is not a sum or product is opaque. Coefficients have any size: one that
/// stopped growing would make different polynomials equal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Polynomial {
    /// Per product of factors, named by their text, the coefficient and the factors.
    terms: BTreeMap<Vec<String>, (BigInt, Vec<Expr>)>,
}

impl Polynomial {
    /// The expanded form of an integer expression.
    pub fn of(expr: &Expr) -> Polynomial {
        match expr {
            Expr::Int(value) => Polynomial::monomial(BigInt::from(*value), Vec::new()),
            Expr::Neg(e) => Polynomial::default().minus(&Polynomial::of(e)),
            Expr::Binary(BinaryOp::Add, a, b) => {
                let zero = Polynomial::default();
                Polynomial::of(a).minus(&zero.minus(&Polynomial::of(b)))
            }
            Expr::Binary(BinaryOp::Sub, a, b) => Polynomial::of(a).minus(&Polynomial::of(b)),
            Expr::Binary(BinaryOp::Mul, a, b) => Polynomial::of(a).times(&Polynomial::of(b)),
            other => Polynomial::monomial(BigInt::from(1), vec![other.clone()]),
        }
    }

    fn monomial(coefficient: BigInt, mut factors: Vec<Expr>) -> Polynomial {
        let mut terms = BTreeMap::new();
        if coefficient != BigInt::ZERO {
            factors.sort_by_key(|f| format!("{f:?}"));
            let key = factors.iter().map(|f| format!("{f:?}")).collect();
            terms.insert(key, (coefficient, factors));
        }
        Polynomial { terms }
    }

    fn add(&mut self, key: &[String], coefficient: &BigInt, factors: &[Expr]) {
        let entry = self
            .terms
            .entry(key.to_vec())
            .or_insert_with(|| (BigInt::ZERO, factors.to_vec()));
        entry.0 += coefficient;
        if entry.0 == BigInt::ZERO {
            self.terms.remove(key);
        }
    }

    /// The difference.
    pub fn minus(&self, other: &Polynomial) -> Polynomial {
        let mut result = self.clone();
        for (key, (coefficient, factors)) in &other.terms {
            result.add(key, &-coefficient, factors);
        }
        result
    }

    /// The product.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut result = Polynomial::default();
        for (a, left) in self.terms.values() {
            for (b, right) in other.terms.values() {
                let factors = left.iter().chain(right).cloned().collect();
                let product = Polynomial::monomial(a * b, factors);
                for (key, (coefficient, factors)) in product.terms {
                    result.add(&key, &coefficient, &factors);
                }
            }
        }
        result
    }

    /// The terms: coefficient and factors.
    pub fn terms(&self) -> impl Iterator<Item = (&BigInt, &[Expr])> {
        self.terms
            .values()
            .map(|(coefficient, factors)| (coefficient, factors.as_slice()))
    }

    /// Whether it is 0, as a polynomial.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// As an expression again; `None` if a coefficient does not fit.
    pub fn to_expr(&self) -> Option<Expr> {
        let mut sum = Expr::Int(0);
        for (coefficient, factors) in self.terms() {
            let product = factors
                .iter()
                .cloned()
                .reduce(algebra::mul)
                .unwrap_or(Expr::Int(1));
            let coefficient = i64::try_from(coefficient).ok()?;
            sum = algebra::add(sum, algebra::mul(Expr::Int(coefficient), product));
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ParamId;

    /// `(p - 2^43) * (q - 2^43) * (r - 2^43)`: its last term is beyond 2^127, as is the next number.
    #[test]
    fn numbers_of_any_size_differ() {
        let factor = |at| {
            let (param, number) = (Expr::Param(ParamId(at)), Expr::Int(1 << 43));
            Polynomial::of(&Expr::binary(BinaryOp::Sub, param, number))
        };
        let product = factor(0).times(&factor(1)).times(&factor(2));
        let one = Polynomial::of(&Expr::Int(1));
        let more = product.minus(&Polynomial::default().minus(&one));
        assert_ne!(product, more);
        assert!(!product.minus(&more).is_zero());
        assert_eq!(more.minus(&product), one);
        assert!(product.minus(&product).is_zero());
        // No literal is so large.
        assert_eq!(product.to_expr(), None);
    }
}
