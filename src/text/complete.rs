//! Completion for editors: the words that may follow at a position. The text is usually incorrect there, so only the
//! words before the position are used.

use super::ast::FIELDS;
use super::ast::RED;
use super::ast::ST;
use super::index::Index;
use super::resolve::BUILT_IN;
use super::resolve::PIPELINES;
use super::resolve::VERDICTS;
use super::token::Lexeme;
use super::token::Token;
use super::token::lex;
use crate::protocol::MemoryOrder;
use crate::protocol::Property;
use crate::protocol::Scope;
use crate::protocol::Span;

/// Something that may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The word or the name.
    pub text: String,
    /// The kind of name; `None` for a word of the language.
    pub kind: Option<&'static str>,
}

/// The words with a meaning of their own. Some of them may be names, too.
pub fn words() -> impl Iterator<Item = &'static str> {
    Token::reserved_words().map(|(word, _)| word)
}

/// Whether a text can be a name.
pub fn is_name(text: &str) -> bool {
    let tokens = lex(text).tokens;
    let [name, end] = tokens.as_slice() else {
        return false;
    };
    name.token.may_be_name()
        && end.token == Token::End
        && name.span.end - name.span.start == text.len()
}

/// The name or the reserved word at a place. For words after dots, such as memory orders, it is the first word.
pub fn word_at(source: &str, offset: usize) -> Option<Span> {
    let tokens = lex(source).tokens;
    let end = tokens.partition_point(|lexeme| lexeme.span.start <= offset);
    let found = tokens
        .get(..end)?
        .iter()
        .rposition(|lexeme| is_word(lexeme.token) && lexeme.span.end >= offset)?;
    let mut first = found;
    while let [.., word, dot] = tokens.get(..first)? {
        let chained = dot.token == Token::Dot && is_word(word.token);
        if !chained {
            break;
        }
        first -= 2;
    }
    let qualified = is_qualified(source, tokens.get(..first + 2)?);
    let at = if qualified { first } else { found };
    tokens.get(at).map(|lexeme| lexeme.span)
}

/// The words and names that may follow at a place, which is at the end of the word before it. `index` contains the
/// names, if the text has any.
pub fn complete(source: &str, offset: usize, index: Option<&Index>) -> Vec<Offer> {
    let Some(before) = source.get(..offset) else {
        return Vec::new();
    };
    let lexed = lex(before);
    if lexed
        .comments
        .last()
        .is_some_and(|comment| comment.span.end == offset)
    {
        return Vec::new();
    }
    let mut tokens = lexed.tokens;
    // Removes the end token, and the word that is being written.
    tokens.pop();
    let touches = tokens.last().is_some_and(|last| last.span.end == offset);
    if touches && tokens.last().is_some_and(|last| is_word(last.token)) {
        tokens.pop();
    }
    let last = tokens.last().map(|last| last.token);
    let before_last = tokens.len().checked_sub(2).and_then(|at| tokens.get(at));
    if touches && last == Some(Token::Int) {
        return Vec::new();
    }
    let named = before_last.is_some_and(|lexeme| lexeme.token.may_be_name());
    match last {
        Some(Token::Dot) if named && !is_qualified(before, &tokens) => offers(&FIELDS),
        Some(Token::Dot) => {
            let orders = MemoryOrder::ALL.map(MemoryOrder::name);
            offers(&[&orders[..], &Scope::ALL.map(Scope::name)].concat())
        }
        Some(Token::Expect) => offers(&Property::ALL.map(Property::name)),
        Some(Token::Colon) if expects(&tokens) => offers(&VERDICTS),
        Some(Token::Launch) => offers(&["ascending", "descending", "any"]),
        _ => general(&tokens, offset, index),
    }
}

/// Words and names. They depend on whether the place is inside a role, and on whether a value has to follow.
fn general(tokens: &[Lexeme], offset: usize, index: Option<&Index>) -> Vec<Offer> {
    let mut all = Vec::new();
    let names = index.into_iter().flat_map(|index| index.visible(offset));
    for name in names.filter(|name| !matches!(name.kind, super::Kind::Role(_))) {
        all.push(Offer {
            text: name.name.clone(),
            kind: Some(name.kind.words()),
        });
    }
    all.extend(offers(&BUILT_IN));
    let last = tokens.last().map(|last| last.token);
    let inside = inside_role(tokens);
    // Domains of parameters may be open.
    let open = last == Some(Token::DotDot) && !inside;
    let value = !open && last.is_some_and(wants_value);
    let may_follow = |token: Token| match value {
        true => matches!(
            token,
            Token::If | Token::Count | Token::True | Token::False | Token::Row
        ),
        false if inside => !token.begins_item() || token.begins_statement(),
        false => !token.begins_statement(),
    };
    let reserved = Token::reserved_words().filter(|(_, token)| may_follow(*token));
    let reserved: Vec<&str> = reserved.map(|(word, _)| word).collect();
    all.extend(offers(&reserved));
    if inside && last == Some(Token::Equal) {
        all.extend(offers(&PIPELINES));
    }
    all
}

fn offers(words: &[&str]) -> Vec<Offer> {
    let offer = |word: &&str| Offer {
        text: (*word).to_owned(),
        kind: None,
    };
    words.iter().map(offer).collect()
}

fn is_word(token: Token) -> bool {
    token == Token::Name || token.is_reserved_word()
}

/// Whether nothing but a value may follow.
fn wants_value(token: Token) -> bool {
    use Token::*;
    matches!(
        token,
        OpenParen
            | OpenBracket
            | Comma
            | DotDot
            | EqualEqual
            | NotEqual
            | LessEqual
            | GreaterEqual
            | PlusEqual
            | AndAnd
            | OrOr
            | Equal
            | Less
            | Greater
            | Plus
            | Minus
            | Star
            | Slash
            | Percent
            | Caret
            | Not
            | Then
            | Where
            | Assume
            | Assuming
            | If
            | In
    )
}

/// Whether the dot at the end follows the first word of a statement, or such a word with an order.
fn is_qualified(before: &str, tokens: &[Lexeme]) -> bool {
    let mut rest = tokens;
    while let [front @ .., word, dot] = rest {
        if dot.token != Token::Dot {
            return false;
        }
        let text = before
            .get(word.span.start..word.span.end)
            .unwrap_or_default();
        if word.token.begins_statement() || [RED, ST].contains(&text) {
            return true;
        }
        rest = front;
    }
    false
}

/// Whether `expect NAME :` stands at the end.
fn expects(tokens: &[Lexeme]) -> bool {
    let at = tokens.len().checked_sub(3);
    let token = at.and_then(|at| tokens.get(at)).map(|first| first.token);
    token == Some(Token::Expect)
}

/// Whether the end is inside a role or a grid.
fn inside_role(tokens: &[Lexeme]) -> bool {
    let mut depth = 0usize;
    let mut role = false;
    for lexeme in tokens {
        match lexeme.token {
            Token::OpenBrace => depth += 1,
            Token::CloseBrace => depth = depth.saturating_sub(1),
            token if depth == 0 && token.begins_item() => {
                role = matches!(token, Token::Role | Token::Grid);
            }
            _ => {}
        }
    }
    role && depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The completions at `|`.
    fn offered(text: &str) -> Vec<String> {
        let offset = text.find('|').unwrap();
        let source = text.replace('|', "");
        let index = super::super::index(&source);
        let offers = complete(&source, offset, index.as_ref());
        offers.into_iter().map(|offer| offer.text).collect()
    }

    fn has(text: &str, word: &str) -> bool {
        offered(text).iter().any(|offer| offer == word)
    }

    #[test]
    fn what_is_offered_depends_on_the_place() {
        let role = "protocol p param N in 1.. semaphore turn = 0 role r[i in 0..N] { | }";
        assert!(has(role, "wait") && has(role, "turn") && has(role, "i"));
        assert!(!has(role, "param") && !has(role, "r"));
        let top = "protocol p param N in 1.. se| role r { var x = 1 }";
        assert!(has(top, "semaphore") && !has(top, "wait") && !has(top, "x"));
        let value = "protocol p param N in 1.. role r { var x = |";
        assert!(has(value, "N") && has(value, "if") && has(value, "producer"));
        assert!(!has(value, "wait") && !has(value, "x"));
        assert_eq!(offered("protocol p // |"), Vec::<String>::new());
    }

    #[test]
    fn fixed_places_have_their_own_words() {
        assert_eq!(
            offered("protocol p role r { var p = producer(2) wait b p.|"),
            FIELDS
        );
        assert!(has("protocol p role r { wait.ac|", "acquire"));
        assert!(has("protocol p role r { red.release.| s += 1", "gpu"));
        assert!(has("protocol p expect | role r {}", "stale_read"));
        assert_eq!(offered("protocol p expect race: |"), VERDICTS);
        assert!(has("protocol p grid g[n in 0..2] launch |", "any"));
    }

    #[test]
    fn words_are_found_from_inside_and_from_both_ends() {
        let word = |text: &str| {
            let offset = text.find('|').unwrap();
            let source = text.replace('|', "");
            let span = word_at(&source, offset)?;
            Some(source[span.start..span.end].to_owned())
        };
        assert_eq!(word("role r { wa|it b 0 }").as_deref(), Some("wait"));
        assert_eq!(word("role r { wait| b 0 }").as_deref(), Some("wait"));
        assert_eq!(
            word("role r { wait.acq|uire.gpu b 0 }").as_deref(),
            Some("wait")
        );
        assert_eq!(word("role r { wait b p.ind|ex }").as_deref(), Some("index"));
        assert_eq!(word("role r { wait b 0| }"), None);
        assert_eq!(word("// wa|it"), None);
    }

    #[test]
    fn names_are_letters_and_not_reserved() {
        assert!(is_name("full_1") && is_name("red"));
        for other in ["", "1a", "wait", "a b", "a//", " a", "ä", "a+b"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
