//! Evaluates obligations without variables, which need no solver.
//!
//! For example, an index 0 has to be below an extent 2. Many protocols have mostly obligations of this kind.
//! Evaluating one is faster than creating a context of a solver.

use super::sexpr::Sexpr;
use super::term::Term;

/// Whether a statement without variables is true. `None` for any other statement, and if a value exceeds the range of
/// the arithmetic here.
pub fn truth(term: &Term) -> Option<bool> {
    match value(&Sexpr::of(term)?)? {
        Value::Truth(truth) => Some(truth),
        Value::Number(_) => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Truth(bool),
    Number(i128),
}

fn value(term: &Sexpr) -> Option<Value> {
    match term {
        Sexpr::Word(word) => match word.as_str() {
            "true" => Some(Value::Truth(true)),
            "false" => Some(Value::Truth(false)),
            digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().map(Value::Number)
            }
            _ => None,
        },
        Sexpr::List(parts) => {
            let (function, arguments) = parts.split_first()?;
            let Sexpr::Word(function) = function else {
                return None;
            };
            let arguments: Vec<Value> = arguments.iter().map(value).collect::<Option<_>>()?;
            apply(function, &arguments)
        }
    }
}

fn apply(function: &str, arguments: &[Value]) -> Option<Value> {
    use Value::Number;
    use Value::Truth;
    match (function, arguments) {
        ("not", [Truth(a)]) => Some(Truth(!a)),
        ("and", [..]) => Some(Truth(truths(arguments)?.into_iter().all(|a| a))),
        ("or", [..]) => Some(Truth(truths(arguments)?.into_iter().any(|a| a))),
        ("=", [Number(a), Number(b)]) => Some(Truth(a == b)),
        ("<=", [Number(a), Number(b)]) => Some(Truth(a <= b)),
        ("<", [Number(a), Number(b)]) => Some(Truth(a < b)),
        ("-", [Number(a)]) => a.checked_neg().map(Number),
        ("-", [Number(a), Number(b)]) => a.checked_sub(*b).map(Number),
        ("+", [Number(a), Number(b)]) => a.checked_add(*b).map(Number),
        ("*", [Number(a), Number(b)]) => a.checked_mul(*b).map(Number),
        _ => None,
    }
}

fn truths(values: &[Value]) -> Option<Vec<bool>> {
    let truth = |value: &Value| match value {
        Value::Truth(truth) => Some(*truth),
        Value::Number(_) => None,
    };
    values.iter().map(truth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate::term;

    #[test]
    fn literals_have_a_truth() {
        let (three, minus) = (term::int(3), term::int(-3));
        let sum = term::sum([three.clone(), minus.clone()]);
        let product = term::apply("*", &[three.clone(), minus.clone()]);
        let difference = term::sub(&minus, &three);
        let up = || term::lt(&minus, &three);
        let down = || term::lt(&three, &minus);
        for (statement, expected) in [
            (term::within(&term::int(0), &three, &term::int(4)), true),
            (term::within(&term::int(0), &three, &term::int(3)), false),
            (term::within(&term::int(0), &minus, &term::int(3)), false),
            (up(), true),
            (term::le(&three, &minus), false),
            (term::le(&three, &three), true),
            (term::eq(&sum, &term::int(0)), true),
            (term::eq(&product, &term::int(-9)), true),
            (term::eq(&difference, &term::int(-6)), true),
            (term::not(down()), true),
            (term::or([down(), up()]), true),
            (term::and([down(), up()]), false),
            (term::boolean(true), true),
            (term::boolean(false), false),
        ] {
            assert_eq!(truth(&statement), Some(expected), "{statement}");
        }
    }

    #[test]
    fn anything_else_has_none() {
        let x = term::name("x");
        let huge = term::name("99999999999999999999999999999999999999999999");
        let quotient = term::apply("div", &[term::int(1), term::int(0)]);
        for statement in [
            term::le(&x, &x),
            term::lt(&term::int(0), &huge),
            // Division by zero is not evaluated.
            term::eq(&quotient, &term::int(0)),
            term::int(3),
            term::name("(<= 1 2 3)"),
            term::name("(and 1 true)"),
            term::name("()"),
            // A goal that holds for all values of a variable is still not one of literals.
            term::or([x, term::le(&term::int(1), &term::int(2))]),
        ] {
            assert_eq!(truth(&statement), None, "{statement}");
        }
    }
}
