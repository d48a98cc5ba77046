//! Makes obligations linear: a new unknown replaces each product of unknowns.
//!
//! For example, `n * m <= k` becomes `opaque_0 <= k`. Solvers are quick and reliable with linear arithmetic, but
//! neither with products of unknowns. Most obligations need few facts about their products: that the same product is
//! on both sides, its sign, or that it is at least each of its factors. So all occurrences of a product become the
//! same new unknown, and a few theorems about products are assumed for it.
//!
//! Invariant: the linear obligation implies the original one. Suppose that the original has a counterexample. Then it
//! is a counterexample of the linear obligation, too: the new unknowns have the values of the products, and the
//! theorems hold for these. So if the linear obligation has no counterexample, the original has none. The converse
//! does not hold: a counterexample of the linear obligation says nothing.

use std::collections::BTreeMap;

use super::obligation::Obligation;
use super::obligation::Split;
use super::sexpr::Sexpr;
use super::term;
use super::term::Term;

/// How the names of the new unknowns begin.
const NAME: &str = "opaque_";

/// Constructs that bind names in a term. Under them, the same product may have different values.
const BINDERS: [&str; 4] = ["let", "forall", "exists", "!"];

/// A linear obligation that implies this one. `None` if this one has no products of unknowns, or if it contains
/// something that is not understood.
pub fn linear(obligation: &Obligation) -> Option<Obligation> {
    let declared = |line: &String| line.contains(NAME);
    if obligation.declarations.iter().any(declared) {
        return None;
    }
    let mut names = Names::default();
    let hypotheses: Option<Vec<Term>> = obligation
        .hypotheses
        .iter()
        .map(|fact| names.replaced(fact))
        .collect();
    let mut hypotheses = hypotheses?;
    let goal = names.replaced(&obligation.goal)?;
    let mut split = Vec::new();
    for each in &obligation.split {
        let then = each.then.iter();
        let then: Option<Vec<(i64, Term)>> = then
            .map(|(value, next)| Some((*value, names.replaced(next)?)))
            .collect();
        split.push(Split {
            integer: names.replaced(&each.integer)?,
            bound: each.bound,
            then: then?,
        });
    }
    if names.products.is_empty() {
        return None;
    }
    hypotheses.append(&mut names.facts);
    let mut declarations = obligation.declarations.clone();
    let names = names.products.values();
    declarations.extend(names.map(|name| format!("(declare-const {name} Int)")));
    Some(Obligation {
        name: obligation.name.clone(),
        meaning: obligation.meaning.clone(),
        declarations,
        hypotheses,
        goal,
        split,
    })
}

/// The names of products, by their factors in order.
#[derive(Default)]
struct Names {
    products: BTreeMap<(String, String), Term>,
    /// The facts that are assumed about them.
    facts: Vec<Term>,
}

impl Names {
    fn replaced(&mut self, term: &Term) -> Option<Term> {
        // Most terms contain no product and need not be parsed.
        if !term.to_string().contains("(* ") {
            return Some(term.clone());
        }
        Some(self.without_products(&Sexpr::of(term)?)?.term())
    }

    fn without_products(&mut self, term: &Sexpr) -> Option<Sexpr> {
        let Sexpr::List(parts) = term else {
            return Some(term.clone());
        };
        let head = parts.first()?.to_string();
        if BINDERS.contains(&head.as_str()) {
            return None;
        }
        let parts = parts.iter().map(|part| self.without_products(part));
        let parts: Vec<Sexpr> = parts.collect::<Option<_>>()?;
        if head != "*" {
            return Some(Sexpr::List(parts));
        }
        let (literals, mut factors): (Vec<Sexpr>, Vec<Sexpr>) =
            parts.into_iter().skip(1).partition(Sexpr::is_literal);
        factors.sort_by_key(Sexpr::to_string);
        let mut factors = factors.into_iter().map(|factor| factor.term());
        let first = factors.next();
        let product = first.map(|first| factors.fold(first, |a, b| self.product(&a, &b)));
        let product = product.map(|term| Sexpr::Word(term.to_string()));
        let mut all: Vec<Sexpr> = literals.into_iter().chain(product).collect();
        Some(if all.len() == 1 {
            all.remove(0)
        } else {
            all.insert(0, Sexpr::Word("*".to_owned()));
            Sexpr::List(all)
        })
    }

    fn product(&mut self, a: &Term, b: &Term) -> Term {
        let factors = (a.to_string(), b.to_string());
        if let Some(known) = self.products.get(&factors) {
            return known.clone();
        }
        let name = term::name(&format!("{NAME}{}", self.products.len()));
        self.products.insert(factors, name.clone());
        let (zero, one) = (term::int(0), term::int(1));
        let implies = |given: Term, then: Term| term::or([term::not(given), then]);
        let both = |low: &Term| term::and([term::le(low, a), term::le(low, b)]);
        self.facts.extend([
            implies(both(&zero), term::le(&zero, &name)),
            implies(
                both(&one),
                term::and([term::le(a, &name), term::le(b, &name)]),
            ),
            implies(
                term::or([term::eq(a, &zero), term::eq(b, &zero)]),
                term::eq(&name, &zero),
            ),
            implies(term::eq(a, &one), term::eq(&name, b)),
            implies(term::eq(b, &one), term::eq(&name, a)),
        ]);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obligation(hypotheses: &[&str], goal: &str) -> Obligation {
        Obligation {
            name: "test".to_owned(),
            meaning: "a test".to_owned(),
            declarations: Vec::new(),
            hypotheses: hypotheses.iter().map(|text| term::name(text)).collect(),
            goal: term::name(goal),
            split: Vec::new(),
        }
    }

    #[test]
    fn equal_products_get_one_name() {
        let given = obligation(
            &["(<= (* x y) z)", "(= z (* 2 y x))", "(<= (* 3 x) (- 1))"],
            "(< (mod (+ (* y x) x) 2) (* x (* y z) (- 4)))",
        );
        let made = linear(&given).unwrap();
        let hypotheses: Vec<String> = made.hypotheses.iter().map(Term::to_string).collect();
        assert_eq!(
            hypotheses[..3],
            [
                "(<= opaque_0 z)",
                "(= z (* 2 opaque_0))",
                "(<= (* 3 x) (- 1))"
            ]
        );
        assert_eq!(
            made.goal.to_string(),
            "(< (mod (+ opaque_0 x) 2) (* (- 4) opaque_2))"
        );
        let facts: Vec<&String> = hypotheses[3..8].iter().collect();
        assert_eq!(
            facts,
            [
                "(or (not (and (<= 0 x) (<= 0 y))) (<= 0 opaque_0))",
                "(or (not (and (<= 1 x) (<= 1 y))) (and (<= x opaque_0) (<= y opaque_0)))",
                "(or (not (or (= x 0) (= y 0))) (= opaque_0 0))",
                "(or (not (= x 1)) (= opaque_0 y))",
                "(or (not (= y 1)) (= opaque_0 x))",
            ]
        );
        assert_eq!(hypotheses.len(), 3 + 3 * 5);
        assert_eq!(made.declarations.len(), 3);
    }

    #[test]
    fn what_is_assumed_of_a_product_is_true_of_every_product() {
        let given = obligation(&["(= p (* x y))"], "false");
        let made = linear(&given).unwrap();
        for x in -4_i64..5 {
            for y in -4_i64..5 {
                for fact in &made.hypotheses[1..] {
                    let text = fact.to_string();
                    let text = text
                        .replace("opaque_0", &term::int(x * y).to_string())
                        .replace('x', &term::int(x).to_string())
                        .replace('y', &term::int(y).to_string());
                    let truth = super::super::ground::truth(&term::name(&text));
                    assert_eq!(truth, Some(true), "{text}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_made_where_nothing_is_gained_or_known() {
        assert_eq!(
            linear(&obligation(&["(<= (* 2 x) y)"], "(< x y)")).map(|o| o.goal),
            None
        );
        for text in [
            "(let ((x 1)) (= (* x y) 2))",
            "(forall ((x Int)) (= (* x y) 2))",
        ] {
            assert!(linear(&obligation(&[text], "false")).is_none(), "{text}");
        }
        let mut clash = obligation(&["(= (* x y) opaque_0)"], "false");
        clash.declarations = vec!["(declare-const opaque_0 Int)".to_owned()];
        assert!(linear(&clash).is_none());
    }
}
