//! The names of mbarriers in the text. They are made from the author's names of variables.
//!
//! For example, a compiler turns the variable `full` of the function `ring` into `_ZZ4ringPfiE4full`. Its mbarrier is
//! called `full_bar` in the text. The ending `_bar` keeps the name different from words of the language and from
//! parameters. A name such as `bars` needs no ending. A variable may have several arrays of mbarriers in it. Then the
//! name has the byte where the array begins, such as `memory_64`.

/// The name of the only mbarrier, or array of them, in a variable.
pub fn mbarrier(variable: &str) -> String {
    let own = own(variable);
    let endings = ["bar", "bars", "barrier", "barriers"];
    match endings.iter().any(|ending| own.ends_with(ending)) {
        true => own,
        false => format!("{own}_bar"),
    }
}

/// The author's name of a variable, as a word of the language.
pub fn own(symbol: &str) -> String {
    let last = match symbol.starts_with("_Z") {
        true => last_piece(symbol).unwrap_or(symbol),
        false => symbol,
    };
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let clean: String = last.chars().map(word).collect();
    match clean.trim_matches('_') {
        "" => "barrier".to_owned(),
        clean => clean.chars().take(MOST).collect(),
    }
}

/// The longest name that is taken from a variable.
const MOST: usize = 60;

/// A mangled name consists of pieces, each behind its length. The name of the variable is the last
/// piece that is a name and ends at the end or before an underscore.
fn last_piece(symbol: &str) -> Option<&str> {
    let bytes = symbol.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let begins = |at: &usize| digit(*at) && (*at == 0 || !digit(*at - 1));
    let piece = |start: usize| {
        let rest = symbol.get(start..)?;
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let length: usize = rest.get(..rest.len() - name.len())?.parse().ok()?;
        let (piece, behind) = name.split_at_checked(length)?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = piece.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let ends = behind.is_empty() || behind.starts_with('_');
        (names && ends && piece.chars().all(is_word)).then_some(piece)
    };
    (0..bytes.len())
        .filter(begins)
        .filter_map(piece)
        .next_back()
}

/// A name as the language takes it.
pub fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text.truncate(60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mbarrier_has_the_name_that_its_author_gave_the_variable() {
        assert_eq!(mbarrier("_ZZ4ringPfiE4full"), "full_bar");
        assert_eq!(
            mbarrier("_ZZ9attentionIL3Bug0EEvRK9TensorMapS3_S3_PfiE7empty_k"),
            "empty_k_bar"
        );
        assert_eq!(mbarrier("_ZZ1kvE4full_0"), "full_bar");
        assert_eq!(mbarrier("full_bar"), "full_bar");
        assert_eq!(mbarrier("wait"), "wait_bar");
        assert_eq!(mbarrier("$shared.1"), "shared_1_bar");
        assert_eq!(mbarrier("bars"), "bars");
        assert_eq!(mbarrier("__"), "barrier");
        assert_eq!(mbarrier("_Z9"), "Z9_bar");
    }
}
