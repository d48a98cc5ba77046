//! Names of many members in few words: `thread[0][0..128]`, as ranges are written in the language.

use itertools::Itertools;

/// From how many on neighbours are put together.
pub(super) const MANY: usize = 4;

/// A name without its last index, and that index.
pub(super) fn parts(name: &str) -> Option<(&str, i64)> {
    let (prefix, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((prefix, index.parse().ok()?))
}

/// Whether a name is the one after another: the same but for the last index, which is one more.
pub(super) fn follows(name: &str, before: &str) -> bool {
    match (parts(before), parts(name)) {
        (Some((prefix, index)), Some((same, next))) => prefix == same && next == index + 1,
        _ => false,
    }
}

/// One name for neighbours, given the first and the last of them.
pub(super) fn range(first: &str, last: &str) -> String {
    match (parts(first), parts(last)) {
        (Some((prefix, from)), Some((_, to))) => format!("{prefix}[{from}..{}]", to + 1),
        _ => format!("{first} to {last}"),
    }
}

/// The same names in the same order, where many neighbours are one.
pub(super) fn ranges(names: &[&str]) -> Vec<String> {
    let runs = names
        .iter()
        .map(|name| vec![*name])
        .coalesce(|mut run, next| {
            let follows = run.last().is_some_and(|last| follows(next[0], last));
            if follows {
                run.extend(next);
                Ok(run)
            } else {
                Err((run, next))
            }
        });
    let words = runs.flat_map(|run| match run.as_slice() {
        [first, .., last] if run.len() >= MANY => vec![range(first, last)],
        few => few.iter().map(|name| (*name).to_owned()).collect(),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_neighbours_are_one_range_and_few_are_not() {
        let names = [
            "t[0][0]", "t[0][1]", "t[0][2]", "t[0][3]", "t[1][4]", "u", "t[2]", "t[3]",
        ];
        let expected = ["t[0][0..4]", "t[1][4]", "u", "t[2]", "t[3]"];
        assert_eq!(ranges(&names), expected);
        assert_eq!(ranges(&["t[3]", "t[2]", "t[1]", "t[0]"]).len(), 4);
    }
}
