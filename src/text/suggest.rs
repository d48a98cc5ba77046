//! "Did you mean": the known name closest to one that is unknown.

/// The candidate nearest to a name by edit distance, if it is near enough: at most a third of the letters of the name
/// differ, and at least one does not.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, c)| *distance <= allowed && *distance < c.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_found_and_another_word_is_not() {
        let known = ["visits", "rank", "N", "M"];
        assert_eq!(nearest("visit", known), Some("visits"));
        assert_eq!(nearest("rnak", known), Some("rank"));
        assert_eq!(nearest("K", known), None);
        assert_eq!(nearest("semaphore", known), None);
    }
}
