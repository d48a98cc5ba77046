//! Types: a name and its arguments in angle brackets.

use std::collections::HashMap;
use std::rc::Rc;

/// A type without aliases at its top: `cute.ptr` with the body `i64, smem, align<8>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// Without `!`.
    pub name: String,
    pub body: String,
}

impl Type {
    pub fn new(name: impl Into<String>, body: impl Into<String>) -> Rc<Self> {
        Rc::new(Self {
            name: name.into(),
            body: body.into(),
        })
    }

    /// The width in bits of `iN`, `index` and floating-point types.
    pub fn scalar_width(&self) -> Option<u16> {
        scalar_width(&self.name).or_else(|| self.name.strip_prefix("cute.").and_then(integer_width))
    }

    /// Whether it is an integer or an index.
    pub fn is_integer(&self) -> bool {
        integer_width(&self.name).is_some() || self.name == "index"
    }

    /// The parts of the body that are separated by commas outside brackets.
    pub fn arguments(&self) -> Vec<&str> {
        split(&self.body, ',')
    }

    /// The strings of the body, in order.
    pub fn strings(&self) -> Vec<&str> {
        // The pieces between quotes alternate with those outside.
        self.body.split('"').skip(1).step_by(2).collect()
    }

    /// What follows `name = ` in the body, up to a comma, a blank or a bracket.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut rest = self.body.as_str();
        while let Some(at) = rest.find(name) {
            let behind = rest[at + name.len()..].trim_start();
            if let Some(value) = behind.strip_prefix('=') {
                let value = value.trim_start();
                let end = value.find([',', ' ', '>', '<']).unwrap_or(value.len());
                return Some(&value[..end]);
            }
            rest = &rest[at + name.len()..];
        }
        None
    }
}

pub fn integer_width(name: &str) -> Option<u16> {
    let digits = name
        .strip_prefix("si")
        .or_else(|| name.strip_prefix("ui"))
        .or_else(|| name.strip_prefix('i'))?;
    let width = digits.parse().ok()?;
    (1..=128).contains(&width).then_some(width)
}

fn scalar_width(name: &str) -> Option<u16> {
    if let Some(width) = integer_width(name) {
        return Some(width);
    }
    if name == "index" {
        return Some(64);
    }
    let digits = name
        .strip_prefix("bf")
        .or_else(|| name.strip_prefix("tf"))
        .or_else(|| name.strip_prefix('f'))?;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let width = digits[..end].parse().ok()?;
    (1..=128).contains(&width).then_some(width)
}

/// Splits at each separator that is outside brackets and strings.
pub fn split(text: &str, separator: char) -> Vec<&str> {
    let mut out = Vec::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut begin = 0;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                out.push(text[begin..at].trim());
                begin = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if !text[begin..].trim().is_empty() || !out.is_empty() {
        out.push(text[begin..].trim());
    }
    out
}

/// Aliases of types.
pub type Aliases = HashMap<String, Rc<Type>>;

/// Whether a word names a builtin type.
pub fn is_builtin(word: &str) -> bool {
    integer_width(word).is_some()
        || (word.starts_with(['f', 'b', 't']) && scalar_width(word).is_some())
        || matches!(
            word,
            "index" | "none" | "vector" | "tensor" | "memref" | "tuple" | "complex"
        )
}
