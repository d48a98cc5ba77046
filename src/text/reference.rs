//! The meaning of the words of the language. The sentences come from `docs/language.md` and are looked up by a word.
//!
//! The page describes constructs in tables, whose first column shows how they are written, and in paragraphs and list
//! items. This file does not repeat the sentences.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::resolve::BUILT_IN;
use super::token::Token;

/// The rows of the tables.
static ROWS: LazyLock<Vec<Entry>> = LazyLock::new(rows);

/// The paragraphs and list items.
static PARAGRAPHS: LazyLock<Vec<String>> = LazyLock::new(paragraphs);

/// The words and signs that the grammar quotes.
static QUOTED: LazyLock<BTreeSet<&str>> = LazyLock::new(quoted);

const PAGE: &str = include_str!("../../docs/language.md");

/// How many descriptions of constructs that merely contain a word are returned.
const MOST: usize = 4;

/// A construct and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// How it is written, in back quotes; empty for a description that says so itself.
    pub form: String,
    /// What it means, with code in back quotes.
    pub meaning: String,
}

/// The descriptions that the page contains for a word: of constructs that begin with it, or else of constructs that
/// contain it.
///
/// There are none for names, such as those in examples.
pub fn describe(word: &str) -> Vec<Entry> {
    if !is_of_language(word) {
        return Vec::new();
    }
    let rows = &*ROWS;
    let begins = |entry: &&Entry| forms(&entry.form).any(|form| words(form).next() == Some(word));
    let contains = |entry: &&Entry| forms(&entry.form).any(|form| words(form).any(|w| w == word));
    let token = Token::reserved_words().find(|(text, _)| *text == word);
    let item = token.is_some_and(|(_, token)| token.begins_item());
    let stmt = token.is_some_and(|(_, token)| token.begins_statement());
    let starts = item || stmt;
    let mut found: Vec<Entry> = rows.iter().filter(begins).cloned().collect();
    if found.is_empty() || !starts {
        let others = rows
            .iter()
            .filter(|entry| contains(entry) && !begins(entry));
        let others: Vec<Entry> = others.take(MOST).cloned().collect();
        if found.is_empty() {
            let about = paragraph(word);
            if !about.is_empty() {
                return about;
            }
        }
        found.extend(others);
    }
    // The table of statements does not describe the declaration.
    if item && stmt {
        found.extend(paragraph(word));
    }
    found
}

/// Whether the language gives a word a meaning, as its grammar says.
fn is_of_language(word: &str) -> bool {
    BUILT_IN.contains(&word)
        || Token::reserved_words().any(|(text, _)| text == word)
        || QUOTED.contains(word)
}

fn quoted() -> BTreeSet<&'static str> {
    let grammar = PAGE
        .split_once("```ebnf")
        .map_or("", |(_, grammar)| grammar);
    grammar.split('"').skip(1).step_by(2).collect()
}

fn rows() -> Vec<Entry> {
    let mut found = Vec::new();
    let mut head: Option<Vec<String>> = None;
    for line in PAGE.lines() {
        let Some(cells) = cells(line) else {
            head = None;
            continue;
        };
        let Some(head) = &head else {
            head = Some(cells);
            continue;
        };
        let [form, rest @ ..] = cells.as_slice() else {
            continue;
        };
        if form.starts_with("---") {
            continue;
        }
        // The values of `launch` and `resident` have tables whose head is the word.
        let word = head.first().and_then(|head| forms(head).next());
        let form = match (word, form.strip_prefix('`')) {
            (Some(word), Some(form)) => format!("`{word} {form}"),
            _ => form.clone(),
        };
        let rest: Vec<String> = match rest {
            [one] => vec![plain(one)],
            several => {
                let named = several.iter().zip(head.iter().skip(1));
                let named = named.filter(|(cell, _)| !cell.is_empty());
                named
                    .map(|(cell, head)| format!("{head}: {}", plain(cell)))
                    .collect()
            }
        };
        found.push(Entry {
            form,
            meaning: rest.join("; "),
        });
    }
    found
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ").or_else(|| line.strip_prefix('|'))?;
    let inner = inner.strip_suffix('|')?.replace("\\|", "\u{0}");
    let cells = inner
        .split('|')
        .map(|cell| cell.trim().replace('\u{0}', "|"));
    Some(cells.collect())
}

fn paragraphs() -> Vec<String> {
    let mut code = false;
    let mut paragraphs = vec![String::new()];
    for line in PAGE.lines() {
        code ^= line.starts_with("```");
        let apart = code || line.starts_with("```") || line.starts_with(['|', '#']);
        if apart || line.is_empty() || line.starts_with("- ") {
            paragraphs.push(String::new());
        }
        if apart {
            continue;
        }
        if let Some(last) = paragraphs.last_mut() {
            let line = line.strip_prefix("- ").unwrap_or(line).trim();
            let space = if last.is_empty() { "" } else { " " };
            last.push_str(&format!("{space}{line}"));
        }
    }
    paragraphs
}

/// The first paragraph or list item that shows a construct with this first word.
fn paragraph(word: &str) -> Vec<Entry> {
    let first = |form: &str| words(form).next() == Some(word) && form.len() > word.len();
    let named = |text: &&String| forms(text).any(|form| form == word);
    let opens = |text: &&String| text.starts_with('`') && forms(text).next().is_some_and(first);
    let shows = |text: &&String| forms(text).any(first);
    let found = PARAGRAPHS.iter().find(opens);
    let found = found.or_else(|| PARAGRAPHS.iter().find(shows));
    // The list of reserved words contains all of them, so it says nothing about one.
    let found = found.or_else(|| {
        let few = |text: &&String| forms(text).count() < 20;
        PARAGRAPHS.iter().filter(few).find(named)
    });
    let entry = found.map(|text| Entry {
        form: String::new(),
        meaning: plain(text),
    });
    entry.into_iter().collect()
}

/// What stands in back quotes.
fn forms(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words of a construct.
fn words(form: &str) -> impl Iterator<Item = &str> {
    super::words::words(form).filter(|word| !word.is_empty())
}

/// A text in which links are replaced by their texts.
fn plain(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(shown, after)| {
            let (target, after) = after.split_once(')')?;
            (!shown.contains(['[', '`']) && !target.contains(' ')).then_some((shown, after))
        });
        let Some((shown, after)) = link else {
            out.push_str(before);
            out.push('[');
            rest = after;
            continue;
        };
        // A reference to another part of the page is useless elsewhere.
        let nearby = ["above", "below"].contains(&shown);
        match before.strip_suffix(", see ").filter(|_| nearby) {
            Some(before) => out.push_str(before),
            None => out.push_str(&format!("{before}{shown}")),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that mean nothing without those around them.
    const PARTS: [&str; 3] = ["true", "false", "order"];

    #[test]
    fn the_page_describes_every_word() {
        for word in Token::reserved_words().map(|(word, _)| word) {
            let found = describe(word);
            assert!(!found.is_empty() || PARTS.contains(&word), "`{word}`");
            for entry in found {
                let text = format!("{}{}", entry.form, entry.meaning);
                assert!(!text.contains("]("), "`{word}`: {text}");
                assert!(entry.meaning.len() > 3, "`{word}`: {entry:?}");
            }
        }
        for name in ["frobnicate", "dq", "mma", "t", "Where", "+"] {
            assert_eq!(describe(name), [], "{name}");
        }
    }

    #[test]
    fn descriptions_are_those_of_the_page() {
        let shown = |word: &str| {
            let found = describe(word).into_iter();
            let lines = found.map(|entry| format!("{} - {}\n", entry.form, entry.meaning));
            lines.collect::<String>()
        };
        insta::assert_snapshot!(shown("commit"), @"`commit b` - arrives on mbarrier `b` once, as soon as all asynchronous work that this member started before is done; does not block");
        insta::assert_snapshot!(shown("launch"), @r"
        `launch ascending` - ascending in every index, the leftmost most significant
        `launch descending` - descending in every index, the leftmost most significant
        `launch h ascending, n descending` - by these keys, the most significant first; every index once
        `launch any`, or no `launch` - whichever the machine picks
        ");
        insta::assert_snapshot!(shown("fence"), @r"
        `fence.acq_rel.gpu` - orders: `acquire`, `release`, `acq_rel`; without them: both are needed
        `fence.proxy.async` - orders: what a thread wrote before asynchronous work that reads it
        ");
        insta::assert_snapshot!(shown("assume"), @" - `assume C` narrows the domain to the values at which `C` holds. `C` is a truth value over parameters and `let`s; it may not depend on a pattern. Assumptions are printed with every verdict. `--assume C` on the command line does the same.");
        insta::assert_snapshot!(shown("where"), @"`count(k in LO..HI where C)` - how many `k` from `LO` to `HI - 1` satisfy `C`");
        insta::assert_snapshot!(shown("acquire"), @r"
        `acquire p E` - blocks until pool `p` has `E` available, and takes it
        `acquire p E backing t`, `release p E backing t` - the same, and makes room for data or gives it up
        ");
    }
}
