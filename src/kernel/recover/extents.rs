//! The arrays of the words of memory that CTAs wait for, and their greatest indices and values.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::family::each;
use crate::recover::grid::APART;
use crate::recover::grid::Array;
use crate::recover::grid::key;
use crate::recover::lower::counter::has_products;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::stored::RangeOf;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const ENDLESS: &str = "the numbers of the words of memory that this may mean have no greatest one";

/// The arrays, and how many elements they have.
pub fn arrays(
    kernel: &Kernel,
    roles: &[Role],
    words: &[(Word, Location)],
    turn: Option<u32>,
) -> Result<Vec<Array>, Obstacle> {
    let mut arrays: Vec<Array> = Vec::new();
    for (word, location) in words {
        if arrays.iter().any(|array| array.key == key(word)) {
            continue;
        }
        // Words at the same pointer with another base or stride may be the same words.
        if arrays.iter().any(|array| array.key.0 == word.pointer) {
            return refuse(APART, location);
        }
        let bytes = i128::from(word.width / 8);
        if word.stride != 0 && word.stride % bytes != 0 {
            return refuse(APART, location);
        }
        let parameter = kernel.parameters.iter().find(|parameter| {
            (parameter.offset..parameter.offset.saturating_add(parameter.size.max(1)))
                .contains(&word.pointer)
        });
        let name = parameter.map_or("memory", |parameter| parameter.name.as_str());
        arrays.push(Array {
            name: format!("at_{name}"),
            key: key(word),
            extent: None,
        });
    }
    for role in roles {
        let counts = counts(&role.lines);
        let mut failure = None;
        every_line(&role.lines, &mut |line| {
            let Line::Action { action, location } = line else {
                return;
            };
            let Some(word) = word_of(action) else {
                return;
            };
            let index = at_last(&word.index, turn);
            let extent = index.and_then(|index| greatest(&index, &counts, turn));
            let Some(extent) = extent.and_then(|most| most.plus(&Number::constant(1))) else {
                failure.get_or_insert_with(|| location.clone());
                return;
            };
            let mut all = arrays.iter_mut();
            if let Some(array) = all.find(|array| array.key == key(word)) {
                array.extent = Some(match array.extent.take() {
                    Some(before) => Number::maximum(before, extent),
                    None => extent,
                });
            }
        });
        if let Some(location) = failure {
            return refuse(ENDLESS, &location);
        }
    }
    Ok(arrays)
}

/// The greatest values of the awaited and stored numbers that may be too great for words of their
/// width, or have products in them.
pub fn limits(
    roles: &[Role],
    turn: Option<u32>,
    range: &RangeOf<'_>,
) -> Result<BTreeSet<Number>, Obstacle> {
    let mut limits = BTreeSet::new();
    for role in roles {
        let counts = counts(&role.lines);
        let mut failure = None;
        each(&role.lines, &mut |action, location| {
            let (Action::CounterWait { word, value, .. } | Action::CounterSet { word, value, .. }) =
                action
            else {
                return;
            };
            let ends = value.range(&|atomic| range(atomic, &counts));
            let most = (1 << (word.width - 1)) - 1;
            let wraps = ends.is_some_and(|(_, greatest)| greatest > most);
            if wraps || has_products(value) {
                match at_last(value, turn).and_then(|value| greatest(&value, &counts, turn)) {
                    Some(most) => {
                        limits.insert(most);
                    }
                    None => failure = Some(location.clone()),
                }
            }
        });
        if let Some(location) = failure {
            return refuse(
                "a value that a wait expects in a word of memory, or that is stored to the word, may wrap around",
                &location,
            );
        }
    }
    Ok(limits)
}

/// Stands for the number of CTAs among the inputs of an extent.
pub const CTAS: u32 = u32::MAX;

/// An index in the CTA whose number makes it the greatest.
fn at_last(index: &Number, turn: Option<u32>) -> Option<Number> {
    let mut number = index.clone();
    let Some(turn) = turn.map(Atomic::Input) else {
        return Some(number);
    };
    let Some(factor) = number.parts.remove(&turn) else {
        return Some(number);
    };
    if factor < 0 {
        return Some(number);
    }
    let last = Number::of(Atomic::Input(CTAS)).minus(&Number::constant(1))?;
    number.plus(&last.times(factor)?)
}

/// The greatest value of an index in all iterations of the loops around, as a number over inputs.
pub fn greatest(
    index: &Number,
    counts: &BTreeMap<u32, Number>,
    turn: Option<u32>,
) -> Option<Number> {
    let mut sum = Number::constant(index.constant);
    for (atomic, factor) in &index.parts {
        let most = match atomic {
            // The index is 0 in the first iteration. More iterations make the sum less.
            Atomic::Index(_) if *factor < 0 => Number::default(),
            Atomic::Index(loop_index) => {
                let last = counts.get(loop_index)?.minus(&Number::constant(1))?;
                greatest(&last, counts, turn)?
            }
            Atomic::Input(input) if Some(*input) != turn => Number::of(atomic.clone()),
            Atomic::Applied(one) if *factor > 0 => Number::constant(one.most),
            Atomic::Applied(_) => Number::default(),
            // In `0..divisor`.
            Atomic::Remainder(_, divisor) if *factor > 0 => Number::constant(divisor - 1),
            Atomic::Remainder(..) => Number::default(),
            Atomic::Quotient(inner, divisor) if *factor > 0 => {
                greatest(inner, counts, turn)?.divided(*divisor)?
            }
            Atomic::Modulo(_, divisor) if *factor > 0 => {
                greatest(divisor, counts, turn)?.minus(&Number::constant(1))?
            }
            // Neither factor is below 0.
            Atomic::Product(a, b) if *factor > 0 => {
                let most = |factor: &Atomic| greatest(&Number::of(factor.clone()), counts, turn);
                most(a)?.product(&most(b)?)?
            }
            _ => return None,
        };
        sum = sum.plus(&most.times(*factor)?)?;
    }
    Some(sum)
}

/// The word that an action is about.
fn word_of(action: &Action) -> Option<&Word> {
    match action {
        Action::CounterWait { word, .. }
        | Action::CounterAdd { word, .. }
        | Action::CounterSet { word, .. } => Some(word),
        _ => None,
    }
}

/// The inputs that are base addresses of words or factors of their indices.
pub fn words_of(roles: &[Role]) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for role in roles {
        each(&role.lines, &mut |action, _| {
            if let Some(word) = word_of(action) {
                found.insert(word.base);
                found.extend(word.factor);
            }
        });
    }
    found
}
