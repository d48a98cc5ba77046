//! The protocol language: from the text of a `.wlk` file to a resolved [`Protocol`], or to a list of errors.
//!
//! The text is split into tokens, parsed into a syntax tree, and resolved. Resolution finds the meaning of names,
//! checks types, and expands `let`s. Every step is bounded, so no input can exhaust memory or the stack, however long
//! or deeply nested it is. `docs/language.md` describes the language.

pub mod ast;
mod complete;
mod diagnostic;
mod format;
mod index;
mod narrow;
mod operators;
mod parse;
pub mod reference;
mod render;
mod resolve;
mod suggest;
mod token;
pub mod words;

pub use complete::Offer;
pub use complete::complete;
pub use complete::is_name;
pub use complete::word_at;
pub use complete::words;
pub use diagnostic::Diagnostic;
pub use diagnostic::Fix;
pub use diagnostic::Hint;
pub use diagnostic::Severity;
pub use index::Declared;
pub use index::Index;
pub use index::Kind;
pub use index::index;
pub use narrow::Narrowing;
pub use narrow::narrow;
pub use render::render;

use crate::protocol::Assumption;
use crate::protocol::Protocol;
use crate::protocol::Span;

/// The largest text that is read, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1 << 20;

/// Reads a protocol.
///
/// Fails with one or more diagnostics, in text order, if the bytes are not UTF-8 or too many, if the text does not
/// parse, or if it has no meaning. The spans of the diagnostics are byte ranges of `source`.
pub fn load(source: &[u8]) -> Result<Protocol, Vec<Diagnostic>> {
    let source = checked(source)?;
    let (file, _) = parse::parse(source)?;
    resolve::resolve(source, &file)
}

/// Reads a condition over the parameters and `let`s of a protocol, as given on the command
/// line. The result is not added to the protocol's assumptions; names that the condition binds
/// are added to its `vars`.
///
/// Fails like [`load`]; the spans are byte ranges of `text`.
pub fn parse_expression(
    protocol: &mut Protocol,
    text: &str,
) -> Result<Assumption, Vec<Diagnostic>> {
    checked(text.as_bytes())?;
    let condition = parse::parse_expression(text)?;
    let source = protocol.source.clone();
    let Ok((file, _)) = parse::parse(&source) else {
        let span = Span {
            start: 0,
            end: text.len(),
        };
        return Err(vec![Diagnostic::error(
            span,
            "the protocol was not read from a text, so its names are not known",
        )]);
    };
    let wording = format::expression(&condition);
    resolve::resolve_assumption(protocol, &file, &condition, wording)
}

/// The syntax tree of a text that parses, for code that changes texts.
pub fn syntax(source: &str) -> Option<ast::File> {
    let source = checked(source.as_bytes()).ok()?;
    parse::parse(source).ok().map(|(file, _)| file)
}

/// Formats a text: four spaces per level, one statement per line, and no parentheses that the meaning does not need.
/// Comments are kept.
///
/// The result has the same meaning, and formatting it again changes nothing. Fails like [`load`] if the text does not
/// parse. Names and types are not checked.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let source = checked(source.as_bytes())?;
    let (file, comments) = parse::parse(source)?;
    Ok(format::file(source, &file, &comments))
}

/// The text of a source, if it is short enough, is UTF-8, and contains no characters that would make it look
/// different from what it is.
fn checked(source: &[u8]) -> Result<&str, Vec<Diagnostic>> {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!(
            "the text has {} bytes; at most {MAX_SOURCE_BYTES} are read",
            source.len()
        );
        return Err(vec![Diagnostic::error(Span::default(), message)]);
    }
    let text = std::str::from_utf8(source).map_err(|error| {
        let start = error.valid_up_to();
        let end = start + error.error_len().unwrap_or(source.len() - start);
        vec![
            Diagnostic::error(
                Span { start, end },
                format!("the text is not UTF-8 from byte {start} on"),
            )
            .label("expected UTF-8"),
        ]
    })?;
    match text.char_indices().find(|(_, c)| deceptive(*c)) {
        None => Ok(text),
        Some((start, c)) => {
            let end = start + c.len_utf8();
            let message = format!("control character {} in the text", c.escape_unicode());
            Err(vec![
                Diagnostic::error(Span { start, end }, message)
                    .label("expected visible characters, spaces and line ends"),
            ])
        }
    }
}

/// Whether a character could make a terminal or an editor show something other than the text. Such characters are
/// control characters and marks that reorder the following text.
fn deceptive(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
