//! Integer polynomials over parameters and opaque expressions.

use std::collections::BTreeMap;

use super::algebra;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;

/// A polynomial in expanded form. Two expressions with equal polynomials have equal values; the
/// converse may fail, since what is not a sum or product is opaque.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Polynomial {
    /// Per product of factors, named by their text, the coefficient and the factors.
    terms: BTreeMap<Vec<String>, (i128, Vec<Expr>)>,
}

impl Polynomial {
    /// The expanded form of an integer expression.
    pub fn of(expr: &Expr) -> Polynomial {
        match expr {
            Expr::Int(value) => Polynomial::monomial(i128::from(*value), Vec::new()),
            Expr::Neg(e) => Polynomial::default().minus(&Polynomial::of(e)),
            Expr::Binary(BinaryOp::Add, a, b) => {
                let zero = Polynomial::default();
                Polynomial::of(a).minus(&zero.minus(&Polynomial::of(b)))
            }
            Expr::Binary(BinaryOp::Sub, a, b) => Polynomial::of(a).minus(&Polynomial::of(b)),
            Expr::Binary(BinaryOp::Mul, a, b) => Polynomial::of(a).times(&Polynomial::of(b)),
            other => Polynomial::monomial(1, vec![other.clone()]),
        }
    }

    fn monomial(coefficient: i128, mut factors: Vec<Expr>) -> Polynomial {
        let mut terms = BTreeMap::new();
        if coefficient != 0 {
            factors.sort_by_key(|f| format!("{f:?}"));
            let key = factors.iter().map(|f| format!("{f:?}")).collect();
            terms.insert(key, (coefficient, factors));
        }
        Polynomial { terms }
    }

    fn add(&mut self, key: &[String], coefficient: i128, factors: &[Expr]) {
        let entry = self
            .terms
            .entry(key.to_vec())
            .or_insert_with(|| (0, factors.to_vec()));
        entry.0 = entry.0.saturating_add(coefficient);
        if entry.0 == 0 {
            self.terms.remove(key);
        }
    }

    /// The difference.
    pub fn minus(&self, other: &Polynomial) -> Polynomial {
        let mut result = self.clone();
        for (key, (coefficient, factors)) in &other.terms {
            result.add(key, coefficient.saturating_neg(), factors);
        }
        result
    }

    /// The product.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut result = Polynomial::default();
        for (a, left) in self.terms.values() {
            for (b, right) in other.terms.values() {
                let factors = left.iter().chain(right).cloned().collect();
                let product = Polynomial::monomial(a.saturating_mul(*b), factors);
                for (key, (coefficient, factors)) in product.terms {
                    result.add(&key, coefficient, &factors);
                }
            }
        }
        result
    }

    /// The terms: coefficient and factors.
    pub fn terms(&self) -> impl Iterator<Item = (i128, &[Expr])> {
        self.terms
            .values()
            .map(|(coefficient, factors)| (*coefficient, factors.as_slice()))
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
