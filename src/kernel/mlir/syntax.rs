//! The tree of an MLIR text: operations with regions, whatever their dialect.
//!
//! An operation such as `scf.for %i = %lo to %hi step %c { ... }` has a syntax of its own, and the text does not say what its
//! parts mean. But all such syntaxes consist of the same pieces: names of values, words, types, attributes and brackets. An
//! operation here is the list of its pieces in order. Code that knows the operation picks the pieces that it needs.

use std::ops::Range;
use std::rc::Rc;

use super::location::LocationText;
use super::types::Type;

/// A value; each definition has its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

#[derive(Debug)]
pub struct Operation<'a> {
    /// One for each result.
    pub results: Vec<ValueId>,
    pub name: &'a str,
    pub items: Vec<Item<'a>>,
    pub span: Range<usize>,
    pub location: Option<LocationText<'a>>,
}

#[derive(Debug)]
pub enum Item<'a> {
    Value(ValueId),
    Word(&'a str),
    /// Also negative ones.
    Number(&'a str),
    /// Without quotes, escapes as they are.
    Text(&'a str),
    Symbol(&'a str),
    Label(&'a str),
    Type(Rc<Type>),
    /// `#name` or `#name<body>`.
    Attribute {
        name: &'a str,
        body: &'a str,
    },
    Mark(&'a str),
    Group(Group<'a>),
    Region(Region<'a>),
    Location(LocationText<'a>),
}

#[derive(Debug)]
pub struct Group<'a> {
    /// `(`, `[`, `{` or `<`.
    pub open: char,
    pub items: Vec<Item<'a>>,
}

#[derive(Debug, Default)]
pub struct Region<'a> {
    pub blocks: Vec<Block<'a>>,
}

#[derive(Debug)]
pub struct Block<'a> {
    pub label: &'a str,
    pub arguments: Vec<Argument>,
    pub operations: Vec<Operation<'a>>,
}

#[derive(Debug, Clone)]
pub struct Argument {
    pub value: ValueId,
    pub ty: Option<Rc<Type>>,
}

impl<'a> Operation<'a> {
    /// The values that are read, in order.
    pub fn operands(&self) -> Vec<ValueId> {
        let mut out = Vec::new();
        collect_values(&self.items, &mut out);
        out
    }

    pub fn regions(&self) -> impl Iterator<Item = &Region<'a>> {
        self.items.iter().flat_map(|item| match item {
            Item::Region(region) => vec![region],
            Item::Group(group) => group
                .items
                .iter()
                .filter_map(|item| match item {
                    Item::Region(region) => Some(region),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        })
    }

    /// The types after the colon of the operation: of operands, and after an arrow or `to`.
    pub fn types(&self) -> (Vec<Rc<Type>>, Option<Vec<Rc<Type>>>) {
        let mut before = Vec::new();
        let mut after = None;
        // The last colon that is followed by a type begins the types.
        let colon = self.items.iter().rposition(|item| is_mark(item, ":"));
        let begin = colon.or_else(|| self.items.iter().position(|item| is_mark(item, "->")));
        let Some(begin) = begin else {
            return (before, after);
        };
        for item in &self.items[begin..] {
            match item {
                Item::Mark("->") | Item::Word("to" | "into") => after = Some(Vec::new()),
                Item::Type(ty) => after.as_mut().unwrap_or(&mut before).push(ty.clone()),
                Item::Group(group) if group.open == '(' => {
                    collect_types(&group.items, after.as_mut().unwrap_or(&mut before));
                }
                _ => {}
            }
        }
        // `scf.if %p -> (i32) {`, `scf.for ... -> (i32) : i32 {`: the arrow stands before a colon.
        if after.is_none()
            && let Some(colon) = colon
            && let Some(arrow) = self.items[..colon]
                .iter()
                .rposition(|item| is_mark(item, "->"))
        {
            let mut types = Vec::new();
            for item in &self.items[arrow..colon] {
                match item {
                    Item::Type(ty) => types.push(ty.clone()),
                    Item::Group(group) if group.open == '(' => {
                        collect_types(&group.items, &mut types);
                    }
                    _ => {}
                }
            }
            after = Some(types);
        }
        (before, after)
    }

    /// What follows `name =` in the attributes of the operation, at any depth.
    pub fn attribute(&self, name: &str) -> Option<&[Item<'a>]> {
        find_attribute(&self.items, name)
    }

    /// Whether a word or a unit attribute of this name occurs outside regions.
    pub fn has_word(&self, word: &str) -> bool {
        has_word(&self.items, word)
    }
}

pub fn is_mark(item: &Item<'_>, mark: &str) -> bool {
    matches!(item, Item::Mark(text) if *text == mark)
}

fn collect_values(items: &[Item<'_>], out: &mut Vec<ValueId>) {
    for item in items {
        match item {
            Item::Value(value) => out.push(*value),
            Item::Group(group) => collect_values(&group.items, out),
            _ => {}
        }
    }
}

fn collect_types(items: &[Item<'_>], out: &mut Vec<Rc<Type>>) {
    for item in items {
        match item {
            Item::Type(ty) => out.push(ty.clone()),
            Item::Group(group) if group.open == '(' => collect_types(&group.items, out),
            _ => {}
        }
    }
}

pub fn find_attribute<'i, 'a>(items: &'i [Item<'a>], name: &str) -> Option<&'i [Item<'a>]> {
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Word(word) | Item::Text(word)
                if *word == name && items.get(at + 1).is_some_and(|next| is_mark(next, "=")) =>
            {
                let rest = &items[at + 2..];
                let end = rest.iter().position(|item| is_mark(item, ","));
                return Some(&rest[..end.unwrap_or(rest.len())]);
            }
            Item::Group(group) => {
                if let Some(found) = find_attribute(&group.items, name) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

fn has_word(items: &[Item<'_>], name: &str) -> bool {
    items.iter().any(|item| match item {
        Item::Word(word) => *word == name,
        Item::Group(group) => has_word(&group.items, name),
        _ => false,
    })
}

/// All numbers among the items and their groups.
pub fn numbers(items: &[Item<'_>]) -> Vec<i128> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Item::Number(text) => out.extend(number(text)),
            Item::Group(group) => out.extend(numbers(&group.items)),
            _ => {}
        }
    }
    out
}

/// A whole number in decimal or hexadecimal digits.
pub fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok()?.cast_signed(),
        None => digits.parse().ok()?,
    };
    if negative {
        value.checked_neg()
    } else {
        Some(value)
    }
}

/// `%a: type, %b: type` in brackets.
pub fn arguments_of(items: &[Item<'_>]) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut fresh = false;
    for item in items {
        match item {
            Item::Value(value) => {
                arguments.push(Argument {
                    value: *value,
                    ty: None,
                });
                fresh = true;
            }
            Item::Type(ty) if fresh => {
                if let Some(argument) = arguments.last_mut() {
                    argument.ty = Some(ty.clone());
                }
                fresh = false;
            }
            _ => {}
        }
    }
    arguments
}

/// Operations that end a region and hand values to the operation around it.
pub fn is_yield(name: &str) -> bool {
    matches!(
        name,
        "scf.yield" | "scf.condition" | "ttg.warp_yield" | "ttg.warp_return"
    )
}
