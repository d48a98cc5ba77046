//! Abbreviates the names of consecutive members as a range: `thread[0][0..128]`, in the syntax of the language.

/// The fewest consecutive names that become a range.
const MANY: usize = 3;

/// A name without its last index, and that index.
fn parts(name: &str) -> Option<(&str, i64)> {
    let (prefix, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((prefix, index.parse().ok()?))
}

/// Whether a name is the successor of another: the names are equal, except that the last index is one more.
fn follows(name: &str, before: &str) -> bool {
    match (parts(before), parts(name)) {
        (Some((prefix, index)), Some((same, next))) => prefix == same && next == index + 1,
        _ => false,
    }
}

/// The name of a range, given its first and its last name.
fn range(first: &str, last: &str) -> String {
    match (parts(first), parts(last)) {
        (Some((prefix, from)), Some((_, to))) => format!("{prefix}[{from}..{}]", to + 1),
        _ => format!("{first} to {last}"),
    }
}

/// Groups consecutive items whose names follow each other and that are `alike`. A group of fewer than [`MANY`] items is
/// split into single items. The order is kept.
pub(super) fn together<T>(
    items: &[T],
    name: impl Fn(&T) -> &str,
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<(String, &[T])> {
    let next = |a: &T, b: &T| alike(a, b) && follows(name(b), name(a));
    let runs = items.chunk_by(next).flat_map(|run| {
        let size = if run.len() < MANY { 1 } else { run.len() };
        run.chunks(size)
    });
    let named = runs.map(|run| match run {
        [first, .., last] => (range(name(first), name(last)), run),
        run => (run.iter().map(|one| name(one).to_owned()).collect(), run),
    });
    named.collect()
}

/// The names in their order, with consecutive ones as a range.
pub(super) fn ranges(names: &[&str]) -> Vec<String> {
    let together = together(names, |name| name, |_, _| true);
    together.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_neighbours_are_one_range_and_few_are_not() {
        let names = [
            "t[0][0]", "t[0][1]", "t[0][2]", "t[1][3]", "u", "t[2]", "t[3]",
        ];
        let expected = ["t[0][0..3]", "t[1][3]", "u", "t[2]", "t[3]"];
        assert_eq!(ranges(&names), expected);
        assert_eq!(ranges(&["t[3]", "t[2]", "t[1]", "t[0]"]).len(), 4);
    }
}
