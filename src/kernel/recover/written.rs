//! Numbers and conditions as text of the protocol language.

use std::fmt;

use super::number::Atomic;
use super::number::Condition;
use super::number::Number;

/// How atomics are called.
pub trait Names {
    fn name(&self, atomic: &Atomic) -> String;
}

/// A number as text of the protocol language. `tight` puts sums in parentheses.
pub fn written(number: &Number, names: &dyn Names, tight: bool) -> String {
    let mut text = String::new();
    let mut terms = 0;
    for (atomic, coefficient) in &number.parts {
        let name = written_atomic(atomic, names);
        let size = coefficient.unsigned_abs();
        let term = if size == 1 {
            name
        } else {
            format!("{size} * {name}")
        };
        match (text.is_empty(), *coefficient < 0) {
            (true, false) => text = term,
            (true, true) => text = format!("0 - {term}"),
            (false, false) => text = format!("{text} + {term}"),
            (false, true) => text = format!("{text} - {term}"),
        }
        terms += 1;
        if terms == 1 && (size != 1 || *coefficient < 0) {
            terms = 2;
        }
    }
    if text.is_empty() {
        return if number.constant < 0 {
            format!("(0 - {})", number.constant.unsigned_abs())
        } else {
            number.constant.to_string()
        };
    }
    if number.constant > 0 {
        text = format!("{text} + {}", number.constant);
    } else if number.constant < 0 {
        text = format!("{text} - {}", number.constant.unsigned_abs());
    }
    if tight && (terms > 1 || number.constant != 0) {
        format!("({text})")
    } else {
        text
    }
}

fn written_atomic(atomic: &Atomic, names: &dyn Names) -> String {
    match atomic {
        Atomic::Quotient(inner, divisor) => {
            format!("({} / {divisor})", written(inner, names, true))
        }
        Atomic::Remainder(inner, divisor) => {
            format!("({} % {divisor})", written(inner, names, true))
        }
        Atomic::Modulo(inner, divisor) => {
            let inner = written(inner, names, true);
            format!("({inner} % {})", written(divisor, names, true))
        }
        Atomic::Product(a, b) => {
            let (a, b) = (written_atomic(a, names), written_atomic(b, names));
            format!("{a} * {b}")
        }
        Atomic::Minimum(a, b) => format!(
            "min({}, {})",
            written(a, names, false),
            written(b, names, false)
        ),
        Atomic::Maximum(a, b) => format!(
            "max({}, {})",
            written(a, names, false),
            written(b, names, false)
        ),
        Atomic::Entry(_) => format!("(if {} then 1 else 0)", names.name(atomic)),
        other => names.name(other),
    }
}

/// A condition as text of the protocol language.
pub fn written_condition(condition: &Condition, names: &dyn Names) -> String {
    if let Some((entry, holds)) = entry(condition) {
        let name = names.name(entry);
        return if holds { name } else { format!("!{name}") };
    }
    match condition {
        Condition::Constant(truth) => truth.to_string(),
        Condition::AtLeastZero(number) => relation(number, ">=", names),
        Condition::Zero(number) => relation(number, "==", names),
        Condition::NotZero(number) => relation(number, "!=", names),
        Condition::And(a, b) => format!(
            "({} && {})",
            written_condition(a, names),
            written_condition(b, names)
        ),
        Condition::Or(a, b) => format!(
            "({} || {})",
            written_condition(a, names),
            written_condition(b, names)
        ),
    }
}

/// The entry that a condition consists of, and whether the condition holds if the entry is 1.
fn entry(condition: &Condition) -> Option<(&Atomic, bool)> {
    let (number, zero) = match condition {
        Condition::Zero(number) => (number, true),
        Condition::NotZero(number) => (number, false),
        _ => return None,
    };
    let mut parts = number.parts.iter();
    match (parts.next(), parts.next(), number.constant) {
        (Some((entry @ Atomic::Entry(_), 1 | -1)), None, 0) => Some((entry, !zero)),
        _ => None,
    }
}

/// `number ? 0` with negative parts on the right.
fn relation(number: &Number, sign: &str, names: &dyn Names) -> String {
    let (mut left, mut right) = (Number::default(), Number::default());
    for (atomic, coefficient) in &number.parts {
        if *coefficient > 0 {
            left.parts.insert(atomic.clone(), *coefficient);
        } else {
            right
                .parts
                .insert(atomic.clone(), coefficient.saturating_neg());
        }
    }
    if number.constant > 0 {
        left.constant = number.constant;
    } else {
        right.constant = number.constant.saturating_neg();
    }
    // `a >= b + 1` reads as `a > b`.
    if sign == ">=" && right.constant > 0 && !right.parts.is_empty() {
        right.constant -= 1;
        return format!(
            "{} > {}",
            written(&left, names, false),
            written(&right, names, false)
        );
    }
    if sign == ">=" && left.constant == 1 && !left.parts.is_empty() {
        // `a + 1 >= b` reads as `a >= b - 1`; kept as it is.
        return format!(
            "{} >= {}",
            written(&left, names, false),
            written(&right, names, false)
        );
    }
    format!(
        "{} {sign} {}",
        written(&left, names, false),
        written(&right, names, false)
    )
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Plain;
        impl Names for Plain {
            fn name(&self, atomic: &Atomic) -> String {
                match atomic {
                    Atomic::Input(number) => format!("p{number}"),
                    Atomic::Index(number) => format!("i{number}"),
                    Atomic::Variable(number) => format!("v{number}"),
                    _ => String::new(),
                }
            }
        }
        formatter.write_str(&written(self, &Plain, false))
    }
}
