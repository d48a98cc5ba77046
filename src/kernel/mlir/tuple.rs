//! Integer tuples and layouts of CuTe: nested lists of leaves, written in the body of a type.
//!
//! A leaf is one of these: a number (`128`), a number that is known at run time only (`?`, `?{i64 div=8}`), a free
//! mode (`_`), or a multiple of a basis vector (`64@0`, for strides of coordinate tensors).

use crate::ir::Operand;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tuple {
    Leaf(Leaf),
    List(Vec<Tuple>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    Number {
        /// The value of a dynamic leaf; `None` until operands are filled in.
        value: Option<Operand>,
        dynamic: bool,
        width: u16,
        /// The basis vector that is multiplied, outermost axis last.
        axes: Vec<u32>,
    },
    Free,
}

/// A function from coordinates to an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub shape: Tuple,
    pub stride: Tuple,
}

const MAX_DEPTH: u32 = 32;

impl Leaf {
    pub fn constant(value: i128) -> Self {
        Self::Number {
            value: Some(Operand::Constant(value.cast_unsigned())),
            dynamic: false,
            width: 32,
            axes: Vec::new(),
        }
    }

    pub fn dynamic(value: Operand, width: u16) -> Self {
        Self::Number {
            value: Some(value),
            dynamic: true,
            width,
            axes: Vec::new(),
        }
    }

    /// The number of a static leaf.
    pub fn known(&self) -> Option<i128> {
        match self {
            Self::Number {
                value: Some(Operand::Constant(bits)),
                dynamic: false,
                ..
            } => Some(bits.cast_signed()),
            _ => None,
        }
    }

    fn text(&self) -> String {
        let Self::Number {
            value,
            dynamic,
            width,
            axes,
        } = self
        else {
            return "_".to_owned();
        };
        let mut text = match (dynamic, value) {
            (false, Some(Operand::Constant(bits))) => bits.cast_signed().to_string(),
            _ if *width == 32 => "?".to_owned(),
            _ => format!("?{{i{width}}}"),
        };
        for axis in axes {
            text.push('@');
            text.push_str(&axis.to_string());
        }
        text
    }
}

impl Tuple {
    pub fn text(&self) -> String {
        match self {
            Self::Leaf(leaf) => leaf.text(),
            Self::List(list) => {
                let texts: Vec<_> = list.iter().map(Self::text).collect();
                format!("({})", texts.join(","))
            }
        }
    }

    /// All leaves in order.
    pub fn leaves(&self) -> Vec<&Leaf> {
        let mut out = Vec::new();
        self.collect(&mut out);
        out
    }

    fn collect<'s>(&'s self, out: &mut Vec<&'s Leaf>) {
        match self {
            Self::Leaf(leaf) => out.push(leaf),
            Self::List(list) => list.iter().for_each(|child| child.collect(out)),
        }
    }

    /// The modes of the outermost list. A leaf is its own only mode.
    pub fn modes(&self) -> Vec<Self> {
        match self {
            Self::Leaf(_) => vec![self.clone()],
            Self::List(list) => list.clone(),
        }
    }

    /// Fills in the operands of dynamic leaves, in order.
    pub fn fill(&mut self, operands: &mut impl Iterator<Item = Operand>) {
        match self {
            Self::Leaf(Leaf::Number {
                value,
                dynamic: true,
                ..
            }) => *value = operands.next(),
            Self::Leaf(_) => {}
            Self::List(list) => list.iter_mut().for_each(|child| child.fill(operands)),
        }
    }

    /// The operands of dynamic leaves, in order; `None` if one is not known.
    pub fn operands(&self) -> Option<Vec<Operand>> {
        self.leaves()
            .into_iter()
            .filter_map(|leaf| match leaf {
                Leaf::Number {
                    value,
                    dynamic: true,
                    ..
                } => Some(*value),
                _ => None,
            })
            .collect()
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader {
            rest: text.trim(),
            depth: 0,
        };
        let tuple = reader.tuple()?;
        reader.rest.is_empty().then_some(tuple)
    }
}

impl Layout {
    pub fn text(&self) -> String {
        format!("{}:{}", self.shape.text(), self.stride.text())
    }

    /// `shape:stride`; of a composed layout the outer one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.rsplit(" o ").next()?;
        let mut reader = Reader {
            rest: text.trim(),
            depth: 0,
        };
        let shape = reader.tuple()?;
        if !reader.accept(':') {
            return None;
        }
        let stride = reader.tuple()?;
        reader.rest.is_empty().then_some(Self { shape, stride })
    }

    /// How many coordinates there are, if that is known.
    pub fn size(&self) -> Option<i128> {
        self.shape
            .leaves()
            .into_iter()
            .try_fold(1_i128, |size, leaf| size.checked_mul(leaf.known()?))
    }

    /// The largest offset plus one.
    pub fn span(&self) -> Option<i128> {
        let shape = self.shape.leaves();
        let stride = self.stride.leaves();
        if shape.len() != stride.len() {
            return None;
        }
        shape
            .into_iter()
            .zip(stride)
            .try_fold(1_i128, |span, (extent, stride)| {
                let last = extent.known()?.checked_sub(1)?;
                span.checked_add(last.checked_mul(stride.known()?)?)
            })
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl Reader<'_> {
    fn accept(&mut self, mark: char) -> bool {
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn tuple(&mut self) -> Option<Tuple> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let tuple = if self.accept('(') {
            let mut list = Vec::new();
            while !self.accept(')') {
                list.push(self.tuple()?);
                if !self.accept(',') && !self.rest.starts_with(')') {
                    return None;
                }
            }
            Tuple::List(list)
        } else {
            Tuple::Leaf(self.leaf()?)
        };
        self.depth -= 1;
        Some(tuple)
    }

    fn leaf(&mut self) -> Option<Leaf> {
        if self.accept('_') {
            return Some(Leaf::Free);
        }
        let mut width = 32;
        let mut value = None;
        let dynamic = self.accept('?');
        if dynamic {
            if self.accept('{') {
                let end = self.rest.find('}')?;
                if let Some(bits) = self.rest[..end]
                    .split([' ', ','])
                    .find_map(super::types::integer_width)
                {
                    width = bits;
                }
                self.rest = self.rest[end + 1..].trim_start();
            }
        } else {
            let end = self
                .rest
                .char_indices()
                .find(|(at, c)| !(c.is_ascii_digit() || (*at == 0 && *c == '-')))
                .map_or(self.rest.len(), |(at, _)| at);
            let number: i128 = self.rest[..end].parse().ok()?;
            value = Some(Operand::Constant(number.cast_unsigned()));
            self.rest = self.rest[end..].trim_start();
        }
        let mut axes = Vec::new();
        while self.accept('@') {
            let end = self
                .rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(self.rest.len());
            axes.push(self.rest[..end].parse().ok()?);
            self.rest = self.rest[end..].trim_start();
        }
        Some(Leaf::Number {
            value,
            dynamic,
            width,
            axes,
        })
    }
}

/// The widths of the dynamic leaves of a text, in order; also of tiles and composed layouts.
pub fn dynamic_widths(text: &str) -> Vec<u16> {
    text.split('?')
        .skip(1)
        .map(|behind| {
            behind
                .strip_prefix('{')
                .and_then(|braces| braces.split('}').next())
                .and_then(|braces| {
                    braces
                        .split([' ', ','])
                        .find_map(super::types::integer_width)
                })
                .unwrap_or(32)
        })
        .collect()
}
