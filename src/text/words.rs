//! The words of texts that are not parsed as the language: descriptions, reasons, and single lines.

/// Whether a character may stand in a name or number.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a text. Between two adjacent separators there is an empty word.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c))
}

/// A text in which another text takes the place of a name.
pub fn replaced(text: &str, name: &str, by: &str) -> String {
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
