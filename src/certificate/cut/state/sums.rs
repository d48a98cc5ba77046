//! Sums of polynomials over parameters times unknowns, in a form that linear arithmetic can use.
//!
//! A solver for linear arithmetic cannot decide much about a product of two unknowns, such as `n * x`. So each product gets
//! a name, and facts that hold of every such product are assumed of the name, for example its sign. If a fact is missing, a
//! proof may fail. No proof succeeds for want of a fact.

use super::Setting;
use crate::certificate::cut::algebra;
use crate::certificate::cut::polynomial::Polynomial;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::term::Term;
use crate::certificate::translate::Env;
use crate::protocol::Expr;

impl Setting<'_> {
    /// A sum of polynomials over parameters times terms. Gathered by product of parameters, so
    /// that equal products cancel before they are multiplied with anything.
    pub fn weighted(&mut self, parts: Vec<(Polynomial, Term)>) -> Result<Term, Unsupported> {
        let mut gathered: Vec<(Vec<Expr>, Vec<Term>)> = Vec::new();
        let zero = term::int(0);
        for (polynomial, times) in parts.iter().filter(|(_, times)| *times != zero) {
            for (coefficient, factors) in polynomial.terms() {
                let coefficient = i64::try_from(coefficient).map_err(|_| exact::too_large())?;
                let scaled = if coefficient == 1 {
                    times.clone()
                } else {
                    term::apply("*", &[term::int(coefficient), times.clone()])
                };
                match gathered.iter_mut().find(|(known, _)| known == factors) {
                    Some((_, sum)) => sum.push(scaled),
                    None => gathered.push((factors.to_vec(), vec![scaled])),
                }
            }
        }
        self.nested(gathered)
    }

    /// A sum of sums, each times a product of parameters. A factor that several products have in common is
    /// taken out: the sign of what it multiplies is then known, which linear arithmetic cannot tell from
    /// the products.
    fn nested(&mut self, gathered: Vec<(Vec<Expr>, Vec<Term>)>) -> Result<Term, Unsupported> {
        if let Some(common) = common_factor(&gathered) {
            let mut inside = Vec::new();
            let mut outside = Vec::new();
            for (mut factors, terms) in gathered {
                match factors.iter().position(|factor| *factor == common) {
                    Some(at) => {
                        factors.remove(at);
                        inside.push((factors, terms));
                    }
                    None => outside.push((factors, terms)),
                }
            }
            let inside = self.nested(inside)?;
            let outside = self.nested(outside)?;
            let factor = self.terms.expr(&common, &Env::new())?;
            return Ok(term::sum([self.product(&factor, inside), outside]));
        }
        let mut sum = Vec::new();
        for (factors, terms) in gathered {
            let times = term::sum(terms);
            let product = factors.into_iter().reduce(algebra::mul);
            sum.push(match product {
                None => times,
                Some(factor) => {
                    let factor = self.terms.expr(&factor, &Env::new())?;
                    self.product(&factor, times)
                }
            });
        }
        Ok(term::sum(sum))
    }

    /// A name for `factor * times`, known by its sign and by what it is near 0. Each fact holds of
    /// the product, so nothing real is excluded; linear arithmetic is all they need.
    fn product(&mut self, factor: &Term, times: Term) -> Term {
        let named = self.unknown("times");
        self.facts.push(term::eq(&named, &times));
        let product = self.unknown("product");
        if self.exact_products {
            let exact = self.terms.product(factor, &named);
            self.facts.push(term::eq(&product, &exact));
        }
        let zero = term::int(0);
        let implies = |given: Term, then: Term| term::or([term::not(given), then]);
        let mut facts = vec![implies(term::eq(&named, &zero), term::eq(&product, &zero))];
        for (k, minus) in [(1_i64, -1_i64), (2, -2), (3, -3)] {
            let multiple = |k: i64| term::apply("*", &[term::int(k), factor.clone()]);
            for k in [k, minus] {
                facts.push(implies(
                    term::eq(&named, &term::int(k)),
                    term::eq(&product, &multiple(k)),
                ));
            }
            facts.push(implies(
                term::le(&term::int(k), &named),
                term::le(&multiple(k), &product),
            ));
            facts.push(implies(
                term::le(&named, &term::int(minus)),
                term::le(&product, &multiple(minus)),
            ));
        }
        // All of these are about a factor that is not negative, the next ones about one above 0.
        let signed = term::le(&zero, factor);
        self.facts.push(implies(signed, term::and(facts)));
        let one = term::int(1);
        self.facts.push(implies(
            term::le(&one, factor),
            term::and([
                implies(term::le(&zero, &named), term::le(&named, &product)),
                implies(term::le(&named, &zero), term::le(&product, &named)),
            ]),
        ));
        self.facts
            .push(implies(term::eq(factor, &one), term::eq(&product, &named)));
        product
    }
}

/// A factor that several products have in common, one of which has further factors: the one that most of
/// them have.
fn common_factor(gathered: &[(Vec<Expr>, Vec<Term>)]) -> Option<Expr> {
    let mut best: Option<(usize, &Expr)> = None;
    for factor in gathered.iter().flat_map(|(factors, _)| factors) {
        let having = gathered.iter().filter(|(all, _)| all.contains(factor));
        let further = having.clone().any(|(all, _)| all.len() > 1);
        let number = having.count();
        if further && number > 1 && best.is_none_or(|(most, _)| number > most) {
            best = Some((number, factor));
        }
    }
    best.map(|(_, factor)| factor.clone())
}
