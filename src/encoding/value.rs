//! Symbolic values that stay concrete as long as possible (constant folding).
//!
//! Most of an unrolled protocol is concrete (CTA indices, loop values). Folding keeps the formulas small.

use z3::ast::Ast;
use z3::ast::Bool;
use z3::ast::Int;

/// An integer, known or symbolic.
#[derive(Debug, Clone)]
pub enum Num {
    /// Known.
    Known(i64),
    /// Symbolic.
    Term(Int),
}

/// A truth value, known or symbolic.
#[derive(Debug, Clone)]
pub enum Truth {
    /// Known.
    Known(bool),
    /// Symbolic.
    Term(Bool),
}

impl Num {
    /// As a solver term.
    pub fn term(&self) -> Int {
        match self {
            Num::Known(value) => Int::from_i64(*value),
            Num::Term(term) => term.clone(),
        }
    }

    /// Applies an operation to known values if it does not overflow, and otherwise to terms.
    fn lift(
        &self,
        other: &Num,
        known: impl Fn(i64, i64) -> Option<i64>,
        term: impl Fn(&Int, &Int) -> Int,
    ) -> Num {
        if let (Num::Known(a), Num::Known(b)) = (self, other)
            && let Some(value) = known(*a, *b)
        {
            return Num::Known(value);
        }
        Num::Term(term(&self.term(), &other.term()))
    }

    /// `self + other`.
    pub fn plus(&self, other: &Num) -> Num {
        match (self, other) {
            (Num::Known(0), n) | (n, Num::Known(0)) => n.clone(),
            _ => self.lift(other, i64::checked_add, |a, b| {
                Int::add(&[a.clone(), b.clone()])
            }),
        }
    }

    /// `self - other`.
    pub fn minus(&self, other: &Num) -> Num {
        self.lift(other, i64::checked_sub, |a, b| {
            Int::sub(&[a.clone(), b.clone()])
        })
    }

    /// `self * other`.
    pub fn times(&self, other: &Num) -> Num {
        self.lift(other, i64::checked_mul, |a, b| {
            Int::mul(&[a.clone(), b.clone()])
        })
    }

    /// `self / other`, rounded toward minus infinity; meaningful for a positive divisor only.
    pub fn over(&self, other: &Num) -> Num {
        let known = |a: i64, b: i64| (b > 0).then(|| a.div_euclid(b));
        self.lift(other, known, |a, b| a.div(b.clone()))
    }

    /// The remainder that belongs to [`Num::over`].
    pub fn modulo(&self, other: &Num) -> Num {
        let known = |a: i64, b: i64| (b > 0).then(|| a.rem_euclid(b));
        self.lift(other, known, |a, b| a.modulo(b.clone()))
    }

    /// `self == other`.
    pub fn equals(&self, other: &Num) -> Truth {
        match (self, other) {
            (Num::Known(a), Num::Known(b)) => Truth::Known(a == b),
            _ => Truth::Term(Ast::eq(&self.term(), other.term())),
        }
    }

    /// `self < other`.
    pub fn less(&self, other: &Num) -> Truth {
        match (self, other) {
            (Num::Known(a), Num::Known(b)) => Truth::Known(a < b),
            _ => Truth::Term(self.term().lt(other.term())),
        }
    }

    /// `self <= other`.
    pub fn at_most(&self, other: &Num) -> Truth {
        other.less(self).not()
    }

    /// The sum of any number of integers.
    pub fn sum(parts: impl IntoIterator<Item = Num>) -> Num {
        let mut known = 0_i64;
        let mut terms = Vec::new();
        for part in parts {
            match part {
                Num::Known(value) => match known.checked_add(value) {
                    Some(total) => known = total,
                    None => terms.push(Int::from_i64(value)),
                },
                Num::Term(term) => terms.push(term),
            }
        }
        if terms.is_empty() {
            return Num::Known(known);
        }
        if known != 0 {
            terms.push(Int::from_i64(known));
        }
        Num::Term(Int::add(&terms))
    }
}

impl Truth {
    /// As a solver term.
    pub fn term(&self) -> Bool {
        match self {
            Truth::Known(value) => Bool::from_bool(*value),
            Truth::Term(term) => term.clone(),
        }
    }

    /// Whether it is known to be false.
    pub fn is_never(&self) -> bool {
        matches!(self, Truth::Known(false))
    }

    /// Negation.
    pub fn not(&self) -> Truth {
        match self {
            Truth::Known(value) => Truth::Known(!value),
            Truth::Term(term) => Truth::Term(term.not()),
        }
    }

    /// Conjunction of any number of truth values.
    pub fn all(parts: impl IntoIterator<Item = Truth>) -> Truth {
        let mut terms = Vec::new();
        for part in parts {
            match part {
                Truth::Known(true) => {}
                Truth::Known(false) => return Truth::Known(false),
                Truth::Term(term) => terms.push(term),
            }
        }
        match terms.len() {
            0 => Truth::Known(true),
            1 => Truth::Term(terms.remove(0)),
            _ => Truth::Term(Bool::and(&terms)),
        }
    }

    /// Disjunction of any number of truth values.
    pub fn any(parts: impl IntoIterator<Item = Truth>) -> Truth {
        Truth::all(parts.into_iter().map(|part| part.not())).not()
    }

    /// Implication.
    pub fn implies(&self, other: &Truth) -> Truth {
        Truth::any([self.not(), other.clone()])
    }

    /// `if self then a else b`.
    pub fn choose(&self, a: &Num, b: &Num) -> Num {
        match (self, a, b) {
            (Truth::Known(true), a, _) => a.clone(),
            (Truth::Known(false), _, b) => b.clone(),
            (_, Num::Known(x), Num::Known(y)) if x == y => a.clone(),
            (Truth::Term(condition), a, b) => Num::Term(condition.ite(&a.term(), &b.term())),
        }
    }

    /// `if self then a else b` for truth values.
    pub fn choose_truth(&self, a: &Truth, b: &Truth) -> Truth {
        Truth::all([self.implies(a), self.not().implies(b)])
    }

    /// 1 if it holds, else 0.
    pub fn count(&self) -> Num {
        self.choose(&Num::Known(1), &Num::Known(0))
    }
}
