//! An obligation: a statement that has to be valid, as a standalone SMT-LIB script.

use super::term;
use super::term::Term;

/// A statement whose negation must be unsatisfiable.
#[derive(Debug, Clone, PartialEq)]
pub struct Obligation {
    /// A short name, unique in its certificate and usable as a file name.
    pub name: String,
    /// What it says, one sentence.
    pub meaning: String,
    /// Declarations, as SMT-LIB commands.
    pub declarations: Vec<String>,
    /// What may be assumed.
    pub hypotheses: Vec<Term>,
    /// What must follow.
    pub goal: Term,
    /// Integers whose values may be told apart, in this order: a solver that does not decide the
    /// whole may decide it for each value.
    pub split: Vec<Split>,
}

/// An integer that is from 0 to below a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The integer.
    pub integer: Term,
    /// The bound.
    pub bound: i64,
    /// Which of the others come next where it has a value.
    pub then: Vec<(i64, Term)>,
}

impl Obligation {
    /// The script. A solver that answers `unsat` has discharged the obligation.
    pub fn script(&self) -> String {
        let mut text = format!(
            "; {}\n; {}\n; Discharged by `unsat`.\n",
            self.name, self.meaning
        );
        text.push_str("(set-logic ALL)\n");
        for line in &self.declarations {
            text.push_str(line);
            text.push('\n');
        }
        for fact in self.asserted() {
            text.push_str(&format!("(assert {fact})\n"));
        }
        text.push_str("(check-sat)\n");
        text
    }

    /// The asserted formulas: the hypotheses and the negated goal.
    pub fn asserted(&self) -> Vec<Term> {
        let mut facts: Vec<Term> = self
            .hypotheses
            .iter()
            .filter(|fact| fact.to_string() != "true")
            .cloned()
            .collect();
        facts.push(term::not(self.goal.clone()));
        facts
    }
}
