//! An obligation: a statement that has to be valid, as a standalone SMT-LIB script.

use super::sexpr::Sexpr;
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
    /// The obligations that together say the same, one for each value of the first integer of
    /// [`Obligation::split`], and one for all other values; empty if there is none.
    pub fn parts(&self) -> Vec<Obligation> {
        let Some((first, rest)) = self.split.split_first() else {
            return Vec::new();
        };
        let part = |fact: Term, value: Option<i64>| {
            let mut part = self.clone();
            part.hypotheses.push(fact);
            let then = first.then.iter().filter(|(at, _)| Some(*at) == value);
            let then: Vec<&Term> = then.map(|(_, next)| next).collect();
            let place = |s: &Split| then.iter().position(|next| **next == s.integer);
            part.split = rest.to_vec();
            part.split.sort_by_key(|s| place(s).unwrap_or(then.len()));
            part
        };
        let integer = &first.integer;
        let outside = term::within(&term::int(0), integer, &term::int(first.bound));
        let values = 0..first.bound;
        values
            .map(|value| part(term::eq(integer, &term::int(value)), Some(value)))
            .chain([part(term::not(outside), None)])
            .collect()
    }

    /// The obligations that together say the same, one for each part of a conjunction that must
    /// follow; empty if it is none.
    pub fn conjuncts(&self) -> Vec<Obligation> {
        let Some(Sexpr::List(parts)) = Sexpr::of(&self.goal) else {
            return Vec::new();
        };
        match parts.split_first() {
            Some((Sexpr::Word(word), parts)) if word == "and" => {
                let part = |part: &Sexpr| Obligation {
                    goal: part.term(),
                    ..self.clone()
                };
                parts.iter().map(part).collect()
            }
            _ => Vec::new(),
        }
    }

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
