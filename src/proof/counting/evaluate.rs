//! The value of an SMT-LIB term at numbers, for trying a transition system out.
//!
//! Only what transition systems consist of: anything else is not understood, and then nothing is
//! tried out.

use std::collections::HashMap;

use crate::certificate::term::Term;

/// A term that has been read.
pub enum Node {
    Value(i64),
    Name(usize),
    Apply(Function, Vec<Node>),
}

/// The functions of the terms.
#[derive(Clone, Copy)]
pub enum Function {
    And,
    Or,
    Not,
    Equal,
    AtMost,
    Less,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Choose,
}

/// Numbers the names that occur.
#[derive(Default)]
pub struct Names {
    numbers: HashMap<String, usize>,
}

impl Names {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Reads a term; `None` when it is not understood.
    pub fn read(&mut self, term: &Term) -> Option<Node> {
        let text = term.to_string().replace('(', " ( ").replace(')', " ) ");
        let mut tokens = text.split_whitespace();
        let node = self.node(&mut tokens)?;
        tokens.next().is_none().then_some(node)
    }

    fn node<'t>(&mut self, tokens: &mut impl Iterator<Item = &'t str>) -> Option<Node> {
        let token = tokens.next()?;
        self.node_from(token, tokens)
    }

    fn node_from<'t>(
        &mut self,
        token: &'t str,
        tokens: &mut impl Iterator<Item = &'t str>,
    ) -> Option<Node> {
        if token != "(" {
            return Some(match token {
                "true" => Node::Value(1),
                "false" => Node::Value(0),
                _ => match token.parse() {
                    Ok(value) => Node::Value(value),
                    Err(_) => Node::Name(self.number(token)),
                },
            });
        }
        let function = match tokens.next()? {
            "and" => Function::And,
            "or" => Function::Or,
            "not" => Function::Not,
            "=" => Function::Equal,
            "<=" => Function::AtMost,
            "<" => Function::Less,
            "+" => Function::Add,
            "-" => Function::Subtract,
            "*" => Function::Multiply,
            "div" => Function::Divide,
            "mod" => Function::Remainder,
            "ite" => Function::Choose,
            _ => return None,
        };
        let mut arguments = Vec::new();
        loop {
            match tokens.next()? {
                ")" => return Some(Node::Apply(function, arguments)),
                token => arguments.push(self.node_from(token, tokens)?),
            }
        }
    }
}

impl Node {
    /// Its value, 0 or 1 for a truth value; `None` on overflow and where it is not defined.
    pub fn value(&self, names: &[i64]) -> Option<i64> {
        let (function, arguments) = match self {
            Node::Value(value) => return Some(*value),
            Node::Name(number) => return names.get(*number).copied(),
            Node::Apply(function, arguments) => (function, arguments),
        };
        let mut values = arguments.iter().map(|a| a.value(names));
        let mut two = || Some((values.next()??, values.next()??));
        Some(match function {
            Function::And => {
                for value in values {
                    if value? == 0 {
                        return Some(0);
                    }
                }
                1
            }
            Function::Or => {
                for value in values {
                    if value? != 0 {
                        return Some(1);
                    }
                }
                0
            }
            Function::Not => i64::from(values.next()?? == 0),
            Function::Equal => two().map(|(a, b)| i64::from(a == b))?,
            Function::AtMost => two().map(|(a, b)| i64::from(a <= b))?,
            Function::Less => two().map(|(a, b)| i64::from(a < b))?,
            Function::Add => values.try_fold(0i64, |sum, v| sum.checked_add(v?))?,
            Function::Multiply => values.try_fold(1i64, |product, v| product.checked_mul(v?))?,
            Function::Subtract if arguments.len() == 1 => values.next()??.checked_neg()?,
            Function::Subtract => two().and_then(|(a, b)| a.checked_sub(b))?,
            Function::Divide => two().and_then(|(a, b)| (b > 0).then(|| a.div_euclid(b)))?,
            Function::Remainder => two().and_then(|(a, b)| (b > 0).then(|| a.rem_euclid(b)))?,
            Function::Choose => {
                let [condition, a, b] = arguments.as_slice() else {
                    return None;
                };
                let branch = if condition.value(names)? != 0 { a } else { b };
                branch.value(names)?
            }
        })
    }

    /// Whether a truth value holds.
    pub fn holds(&self, names: &[i64]) -> Option<bool> {
        self.value(names).map(|value| value != 0)
    }
}
