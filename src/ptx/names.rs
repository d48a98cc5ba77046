//! Demangles names of entries: `_Z4gemmILi4EEvPKfi` is `gemm<4>`.

use cpp_demangle::DemangleOptions;
use cpp_demangle::Symbol;

/// The name of an entry in its source, without parameters and results; as it stands where it is not mangled.
pub fn readable(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok());
    let found = symbol
        .flatten()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok());
    found
        .filter(|found| !found.is_empty())
        .unwrap_or_else(|| name.to_owned())
}

/// Whether somebody who writes this means an entry: by its name, with namespaces and template arguments or without.
pub fn means(entry: &str, written: &str) -> bool {
    let readable = readable(entry);
    let path = path(&readable);
    let last = path.rsplit("::").next().unwrap_or(path);
    [entry, &readable, path, last].contains(&written)
}

/// The last part of a name, which can stand for the whole where there is only one.
pub(super) fn short(name: &str) -> String {
    let readable = readable(name);
    let path = path(&readable);
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// A name without the template arguments at its end.
fn path(readable: &str) -> &str {
    if !readable.ends_with('>') {
        return readable;
    }
    let mut depth = 0usize;
    for (at, character) in readable.char_indices().rev() {
        match character {
            '>' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return readable.get(..at).unwrap_or(readable);
        }
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::means;
    use super::readable;

    #[test]
    fn names_as_in_the_source() {
        assert_eq!(readable("gemm"), "gemm");
        assert_eq!(readable("_Znot a name"), "_Znot a name");
        assert_eq!(readable("_Z4gemmPKfi"), "gemm");
        assert_eq!(readable("_Z4gemmILi4EEvPKfi"), "gemm<4>");
        assert_eq!(
            readable("_ZN4hopp4gemmILi4ELi2EEEvPKfi"),
            "hopp::gemm<4, 2>"
        );
        for written in [
            "_ZN4hopp4gemmILi4EEEvPKfi",
            "hopp::gemm<4>",
            "hopp::gemm",
            "gemm",
        ] {
            let entry = "_ZN4hopp4gemmILi4EEEvPKfi";
            assert!(means(entry, written), "{written}");
        }
        assert!(!means("_Z4gemmILi4EEvPKfi", "gem"));
        assert!(!means("_Z4gemmILi4EEvPKfi", "gemm<5>"));
    }
}
