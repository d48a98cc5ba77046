//! CTAs that wait for each other, and the words that they wait for, as text of the protocol language.

use crate::ir::Location;
use crate::recover::grid::Array;
use crate::recover::grid::Grid;
use crate::recover::lower::MOST;
use crate::recover::names::identifier;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Passes;
use crate::recover::role_ir::Word;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::write::unwrapped;
use crate::recover::written::Names;
use crate::recover::written::written;

/// Refuses what the text has no form for.
pub fn check(grid: &Grid, parameters: &[(u32, String)], pools: bool) -> Result<(), Obstacle> {
    if pools {
        return refuse(
            "CTAs wait for each other, and their warps for registers: that is not followed",
            &Location::default(),
        );
    }
    let own = ["R", grid.name.as_str(), grid.count.as_str()];
    let is_own = |(input, name): &(u32, String)| {
        let of_grid = [grid.turn, grid.total].contains(&Some(*input));
        !of_grid && own.contains(&name.as_str())
    };
    if parameters.iter().any(is_own) {
        return refuse(
            "a parameter has the name of what the protocol calls its CTAs",
            &Location::default(),
        );
    }
    Ok(())
}

/// How many CTAs there are, and what is assumed of that.
pub fn parameters(grid: &Grid, names: &dyn Names) -> String {
    let count = &grid.count;
    let mut text = format!(
        "param {count} in 1..={MOST}\nparam R in 1..\nassume R >= {count}  // all CTAs are resident at once\n"
    );
    for limit in &grid.limits {
        let limit = written(limit, names, false);
        text.push_str(&format!(
            "assume {limit} <= {}  // awaited and stored numbers do not wrap around\n",
            i32::MAX
        ));
    }
    text
}

/// The words that they wait for.
pub fn words(grid: &Grid, names: &dyn Names) -> String {
    let array = |array: &Array| {
        let extent = array.extent.as_ref();
        let extent = extent.map(|extent| written(extent, names, false));
        format!(
            "semaphore {}[{}] = 0  // taken to be cleared before the launch\n",
            identifier(&array.name),
            extent.unwrap_or_default()
        )
    };
    grid.arrays.iter().map(array).collect()
}

/// The extents of what each CTA has of its own.
pub fn extents(grid: Option<&Grid>, other: Option<String>) -> String {
    bracketed(grid.map(|grid| grid.count.clone()), other)
}

/// The indices of what the CTA has of its own.
pub fn indices(grid: Option<&Grid>, other: Option<String>) -> String {
    bracketed(grid.map(|grid| grid.name.clone()), other)
}

fn bracketed(cta: Option<String>, other: Option<String>) -> String {
    let all: Vec<String> = cta.into_iter().chain(other).collect();
    match all.as_slice() {
        [] => String::new(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// A word of an array.
pub fn word(
    grid: Option<&Grid>,
    word: &Word,
    names: &dyn Names,
    location: &Location,
) -> Result<String, Obstacle> {
    let Some(array) = grid.and_then(|grid| grid.array(word)) else {
        return refuse(
            "which word of memory this is cannot be written in the protocol language",
            location,
        );
    };
    Ok(format!(
        "{}[{}]",
        identifier(&array.name),
        unwrapped(&written(&word.index, names, false))
    ))
}

/// What is done with a word, which is written already.
pub fn statement(action: &Action, word: &str, number: &dyn Fn(&Number) -> String) -> String {
    match action {
        Action::CounterWait { value, passes, .. } => {
            let more = match passes {
                Passes::At => "==",
                // No word is below 0.
                Passes::From | Passes::OtherThanZero => ">=",
            };
            format!("wait {word} {more} {}", number(value))
        }
        Action::CounterAdd { value, .. } => format!("{word} += {}", number(value)),
        Action::CounterSet { value, .. } => format!("{word} = {}", number(value)),
        _ => String::new(),
    }
}
