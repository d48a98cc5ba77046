//! Makes opcodes contiguous: white space between an opcode and its suffixes is moved after them.
//!
//! Example: `cp.async.bulk.tensor.2d.global.shared::cta.bulk_group .L2::cache_hint [%rd1, {%r1}], [%r2], %rd2;`. Inline
//! assembly often has this form, and the assembler accepts it. The length of the text and all other positions stay the
//! same.

use logos::Logos;

use super::token::Token;

/// A text in which no opcode is in pieces.
pub fn contiguous(source: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&source) else {
        return source;
    };
    let mut gaps = Vec::new();
    // Where the opcode of the statement at hand will end, and where its last piece does; after other tokens nothing
    // more belongs to it.
    let mut opcode: Option<(usize, usize)> = None;
    let mut begins = true;
    let mut guard = false;
    // `.loc` ends with its line.
    let mut skipped = 0;
    for (token, span) in Token::lexer(text).spanned() {
        let word = &text[span.clone()];
        if span.start < skipped {
            continue;
        }
        if begins && word == ".loc" {
            skipped = text[span.end..]
                .find('\n')
                .map_or(text.len(), |at| span.end + at);
            continue;
        }
        match token {
            Ok(Token::Semicolon | Token::OpenBrace | Token::CloseBrace | Token::Colon) => {
                (begins, guard, opcode) = (true, false, None);
            }
            Ok(Token::At) if begins => guard = true,
            Ok(Token::Not) if guard => {}
            Ok(Token::Word) if guard => guard = false,
            Ok(Token::Word) if begins => {
                begins = false;
                opcode = word
                    .starts_with(|c: char| c.is_ascii_alphabetic())
                    .then_some((span.end, span.end));
            }
            Ok(Token::Word) => {
                let gap = opcode.filter(|(_, last)| {
                    let between = &text[*last..span.start];
                    word.starts_with('.') && between.bytes().all(|byte| byte.is_ascii_whitespace())
                });
                if let Some((end, _)) = gap {
                    gaps.push((end, span.start, span.end));
                    opcode = Some((end + span.len(), span.end));
                } else {
                    opcode = None;
                }
            }
            _ => (begins, guard, opcode) = (false, false, None),
        }
    }
    let mut whole = source;
    for (from, start, end) in gaps {
        whole[from..end].rotate_left(start - from);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8(contiguous(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn suffixes_follow_their_opcode() {
        assert_eq!(
            of("{ @!%p bar .sync\n .aligned 0; .reg .b32 %r;\n.loc 1 2 3\nL: ld.x .y .z %r, [a];"),
            "{ @!%p bar.sync.aligned \n  0; .reg .b32 %r;\n.loc 1 2 3\nL: ld.x.y.z   %r, [a];"
        );
    }

    #[test]
    fn other_words_stay() {
        for text in [
            ".reg .b32 %r;",
            "mov.u32 %r, .x;",
            "bra L;\n.loc 1 2 3\nadd.u32 %r, %r, 1;",
        ] {
            assert_eq!(of(text), text);
        }
    }
}
