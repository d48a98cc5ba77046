//! SMT-LIB terms as text.
//!
//! The checker's whole output is SMT-LIB text that any solver can read, so its terms are that
//! text from the start; nothing here depends on a solver's library.

use std::fmt;

/// A term of sort `Int` or `Bool` in SMT-LIB syntax.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(String);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Term {
    /// How many bytes its text has.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// Whether it is an integer literal.
    pub fn is_literal(&self) -> bool {
        let digits = self
            .0
            .strip_prefix("(- ")
            .and_then(|t| t.strip_suffix(')'))
            .unwrap_or(&self.0);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    }
}

/// A declared constant.
pub fn name(name: &str) -> Term {
    Term(name.to_owned())
}

/// An integer literal.
pub fn int(value: i64) -> Term {
    if value < 0 {
        Term(format!("(- {})", value.unsigned_abs()))
    } else {
        Term(value.to_string())
    }
}

/// A truth literal.
pub fn boolean(value: bool) -> Term {
    Term(value.to_string())
}

/// The application of a function symbol; without arguments, the constant itself.
pub fn apply(function: &str, arguments: &[Term]) -> Term {
    if arguments.is_empty() {
        return name(function);
    }
    let mut text = format!("({function}");
    for argument in arguments {
        text.push(' ');
        text.push_str(&argument.0);
    }
    text.push(')');
    Term(text)
}

/// Conjunction; `true` when there are no parts.
pub fn and(parts: impl IntoIterator<Item = Term>) -> Term {
    gather("and", "true", "false", parts)
}

/// Disjunction; `false` when there are no parts.
pub fn or(parts: impl IntoIterator<Item = Term>) -> Term {
    gather("or", "false", "true", parts)
}

fn gather(
    function: &str,
    neutral: &str,
    absorbing: &str,
    parts: impl IntoIterator<Item = Term>,
) -> Term {
    let mut kept = Vec::new();
    for part in parts {
        if part.0 == absorbing {
            return part;
        }
        if part.0 != neutral {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => Term(neutral.to_owned()),
        1 => kept.remove(0),
        _ => apply(function, &kept),
    }
}

/// Negation.
pub fn not(part: Term) -> Term {
    match part.0.as_str() {
        "true" => boolean(false),
        "false" => boolean(true),
        _ => apply("not", &[part]),
    }
}

/// Equality.
pub fn eq(a: &Term, b: &Term) -> Term {
    if a == b {
        boolean(true)
    } else {
        apply("=", &[a.clone(), b.clone()])
    }
}

/// That two lists have the same entries.
pub fn same(a: &[Term], b: &[Term]) -> Vec<Term> {
    a.iter().zip(b).map(|(a, b)| eq(a, b)).collect()
}

/// `a <= b`.
pub fn le(a: &Term, b: &Term) -> Term {
    apply("<=", &[a.clone(), b.clone()])
}

/// `a < b`.
pub fn lt(a: &Term, b: &Term) -> Term {
    apply("<", &[a.clone(), b.clone()])
}

/// The sum of any number of integers.
pub fn sum(parts: impl IntoIterator<Item = Term>) -> Term {
    let kept: Vec<Term> = parts.into_iter().filter(|part| part.0 != "0").collect();
    match kept.len() {
        0 => int(0),
        1 => kept.into_iter().next().unwrap_or_else(|| int(0)),
        _ => apply("+", &kept),
    }
}

/// The product of any number of integers.
pub fn product(parts: impl IntoIterator<Item = Term>) -> Term {
    let mut kept = Vec::new();
    for part in parts {
        if part.0 == "0" {
            return part;
        }
        if part.0 != "1" {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => int(1),
        1 => kept.remove(0),
        _ => apply("*", &kept),
    }
}

/// `a - b`.
pub fn sub(a: &Term, b: &Term) -> Term {
    if b.0 == "0" {
        a.clone()
    } else {
        apply("-", &[a.clone(), b.clone()])
    }
}

/// `if condition then a else b`.
pub fn ite(condition: &Term, a: &Term, b: &Term) -> Term {
    match condition.0.as_str() {
        "true" => a.clone(),
        "false" => b.clone(),
        _ if a == b => a.clone(),
        _ => apply("ite", &[condition.clone(), a.clone(), b.clone()]),
    }
}

/// `lo <= x < hi`.
pub fn within(lo: &Term, x: &Term, hi: &Term) -> Term {
    and([le(lo, x), lt(x, hi)])
}
