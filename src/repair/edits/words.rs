//! Finds names in texts of the language.

/// Whether a character may stand in a name or number.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A text with something else in place of a name.
pub(super) fn replaced(text: &str, name: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (head, tail) = rest.split_at(at);
        let after = &tail[name.len()..];
        let before = head.ends_with(is_word) || head.is_empty() && out.ends_with(is_word);
        let whole = !before && !after.starts_with(is_word);
        out.push_str(head);
        out.push_str(if whole { by } else { name });
        rest = after;
    }
    out.push_str(rest);
    out
}
