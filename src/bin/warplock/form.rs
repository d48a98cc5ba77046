//! The language of a text: a protocol, PTX or MLIR.
//!
//! The ending of a file decides. For other files and for standard input, the first characters of the text decide;
//! comments are skipped:
//!
//! ```text
//! .version 8.6     PTX
//! module { ... }   MLIR
//! param N >= 1     a protocol, as everything else
//! ```

use std::path::Path;

/// The language of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Protocol,
    Ptx,
    Mlir,
}

impl Form {
    /// The language that the ending of a file stands for. Upper case counts as lower case.
    pub fn of_ending(path: &Path) -> Option<Form> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "wlk" => Some(Form::Protocol),
            "ptx" => Some(Form::Ptx),
            "mlir" => Some(Form::Mlir),
            _ => None,
        }
    }

    /// The language that the beginning of a text shows.
    pub fn of_text(bytes: &[u8]) -> Form {
        let text = behind_comments(bytes);
        if text.starts_with(b".version") {
            return Form::Ptx;
        }
        let module: [&[u8]; 3] = [b"module", b"builtin.module", b"\"builtin.module\""];
        let is_module = module.iter().any(|begin| text.starts_with(begin));
        // `#map = ...` and `!type = ...` name an attribute or a type of MLIR.
        let is_alias = matches!(text, [b'#' | b'!', letter, ..] if letter.is_ascii_alphabetic());
        match is_module || is_alias {
            true => Form::Mlir,
            false => Form::Protocol,
        }
    }
}

/// A text without the white space and comments at its beginning.
fn behind_comments(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes.trim_ascii_start();
    loop {
        let end: (&[u8], &[u8]) = match rest {
            [b'/', b'/', line @ ..] => (line, b"\n"),
            [b'/', b'*', block @ ..] => (block, b"*/"),
            _ => return rest,
        };
        let (comment, end) = end;
        let at = comment.windows(end.len()).position(|part| part == end);
        rest = match at {
            Some(at) => comment.get(at + end.len()..).unwrap_or_default(),
            None => &[],
        };
        rest = rest.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn texts_are_known_by_how_they_begin() {
        for (text, form) in [
            ("// made by nvcc\n/* .wlk */ .version 8.6\n", Form::Ptx),
            ("#loc = loc(unknown)\nmodule {}", Form::Mlir),
            ("!copy = !cute.ptr<f16>\nmodule @kernels {}", Form::Mlir),
            ("// .version 8.6\nparam N >= 1\n", Form::Protocol),
            ("/* .version 8.6", Form::Protocol),
            ("", Form::Protocol),
        ] {
            assert_eq!(Form::of_text(text.as_bytes()), form, "{text}");
        }
    }
}
