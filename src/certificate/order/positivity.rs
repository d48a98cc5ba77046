//! Proofs of inequalities between polynomials over the integers. They are checked exactly and without a solver.
//!
//! A proof shows that hypotheses `h >= 0` imply a goal `g >= 0`, by contradiction. Assume the negated goal,
//! `-g - 1 >= 0`. Multiply hypotheses and the negated goal with each other, and add the products with positive multipliers.
//! The sum is at least 0. If it is a negative number, the assumption was false. So a proof consists of the
//! multipliers. If each product has one factor, this is Farkas' lemma. If products have two factors, it is
//! Handelman's representation. A proof may have several steps, and a step may use the results of earlier steps as
//! hypotheses.

use serde::Deserialize;
use serde::Serialize;

use super::polynomial::Polynomial;
use super::polynomial::TooLarge;

/// A claim: the hypotheses imply the goal, for all integer values of the unknowns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sequent {
    /// Polynomials that are assumed to be at least 0.
    pub hypotheses: Vec<Polynomial>,
    /// The polynomial that is then at least 0.
    pub goal: Polynomial,
}

/// A proof of a sequent: steps, the last of which shows the goal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Proof(pub Vec<Step>);

/// One consequence of the hypotheses and of the earlier steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The inequality that the step shows. Without a lemma it shows the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lemma: Option<Lemma>,
    /// The sum of products that contradicts the negated inequality.
    pub sum: Vec<Multiple>,
}

/// `greater - less + plus >= 0` for two iteration numbers, by the order of their introduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lemma {
    /// The greater one.
    pub greater: usize,
    /// The lesser one.
    pub less: usize,
    /// What is added.
    pub plus: i64,
}

/// A positive integer times a product of at most two facts. Facts are numbered: first the hypotheses
/// in their order, then the results of earlier steps, and last the negation of what this step shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiple {
    /// The integer.
    pub times: i64,
    /// The facts; none for the number 1.
    pub of: Vec<usize>,
}

impl Lemma {
    /// The polynomial that the lemma claims to be at least 0.
    pub fn claim(&self) -> Result<Polynomial, TooLarge> {
        use super::polynomial::Unknown::Iteration;
        Polynomial::number(i128::from(self.plus))
            .plus(1, &Polynomial::unknown(Iteration(self.greater)))?
            .plus(-1, &Polynomial::unknown(Iteration(self.less)))
    }
}

/// The negation of a claim `p >= 0` over the integers, as a polynomial that is at least 0: `-p - 1`.
pub fn contrary(claim: &Polynomial) -> Result<Polynomial, TooLarge> {
    Polynomial::number(-1).plus(-1, claim)
}

/// Whether a proof shows the goal of a sequent.
///
/// # Errors
///
/// What is wrong with the proof, as a lowercase fragment.
pub fn check(sequent: &Sequent, proof: &Proof) -> Result<(), String> {
    let large = |_: TooLarge| "a number in it is too large".to_owned();
    let mut facts = sequent.hypotheses.clone();
    let mut last = None;
    for step in &proof.0 {
        let claim = match &step.lemma {
            Some(lemma) => lemma.claim().map_err(large)?,
            None => sequent.goal.clone(),
        };
        let contrary = contrary(&claim).map_err(large)?;
        let mut sum = Polynomial::default();
        for multiple in &step.sum {
            if multiple.times <= 0 {
                return Err("a multiplier is not positive".to_owned());
            }
            if multiple.of.len() > 2 {
                return Err("a product has more than two factors".to_owned());
            }
            let mut product = Polynomial::number(1);
            for at in &multiple.of {
                let factor = match facts.len() {
                    this if *at == this => Some(&contrary),
                    _ => facts.get(*at),
                };
                let factor = factor.ok_or("a multiplier is of nothing")?;
                product = product.times(factor).map_err(large)?;
            }
            sum = sum
                .plus(i128::from(multiple.times), &product)
                .map_err(large)?;
        }
        if sum.value().is_none_or(|value| value >= 0) {
            return Err("its sum is not a number below 0".to_owned());
        }
        facts.push(claim);
        last = Some(step.lemma.is_none());
    }
    match last {
        Some(true) => Ok(()),
        _ => Err("it does not end with what is to be shown".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::polynomial::Unknown::Iteration;
    use super::*;

    fn x(at: usize) -> Polynomial {
        Polynomial::unknown(Iteration(at))
    }

    fn sequent() -> Sequent {
        // k * d <= k - 1 and k >= 1 give d <= 0: over the rationals only d < 1.
        let kd = x(0).times(&x(1)).unwrap();
        let bound = x(0).plus(-1, &Polynomial::number(1)).unwrap();
        Sequent {
            hypotheses: vec![bound.clone(), bound.plus(-1, &kd).unwrap()],
            goal: Polynomial::default().plus(-1, &x(1)).unwrap(),
        }
    }

    fn proof(times: i64) -> Proof {
        // The contrary d - 1 >= 0: (k - 1) (d - 1) + (k - 1 - k d) + (d - 1) = -1.
        let of = [vec![0, 2], vec![1], vec![2]];
        let sum = of.into_iter().map(|of| Multiple { times, of });
        Proof(vec![Step {
            lemma: None,
            sum: sum.collect(),
        }])
    }

    #[test]
    fn the_right_multipliers_are_accepted_and_no_others() {
        assert_eq!(check(&sequent(), &proof(1)), Ok(()));
        assert_eq!(check(&sequent(), &proof(3)), Ok(()));
        let mut wrong = proof(1);
        wrong.0[0].sum[1].times = 2;
        assert!(check(&sequent(), &wrong).is_err());
        wrong.0[0].sum[1].times = -1;
        assert!(check(&sequent(), &wrong).is_err());
        let mut weaker = sequent();
        weaker.hypotheses[1] = weaker.hypotheses[1]
            .plus(1, &Polynomial::number(1))
            .unwrap();
        assert!(check(&weaker, &proof(1)).is_err());
        assert!(check(&sequent(), &Proof::default()).is_err());
    }

    #[test]
    fn a_lemma_alone_does_not_show_the_goal() {
        let mut proof = proof(1);
        proof.0[0].lemma = Some(Lemma {
            greater: 0,
            less: 0,
            plus: 0,
        });
        assert!(check(&sequent(), &proof).is_err());
    }

    #[test]
    fn overflow_is_an_error() {
        let large = Polynomial::number(i128::MAX);
        let sequent = Sequent {
            hypotheses: vec![large.clone()],
            goal: Polynomial::default(),
        };
        let sum = vec![Multiple {
            times: 2,
            of: vec![0, 0],
        }];
        let proof = Proof(vec![Step { lemma: None, sum }]);
        assert!(check(&sequent, &proof).is_err());
    }
}
