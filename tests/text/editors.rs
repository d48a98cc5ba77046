//! The grammars of `editors` know the words of the language.

use warplock::text;

const TREE_SITTER: &str = include_str!("../../editors/tree-sitter-wlk/grammar.js");
const HIGHLIGHTS: &str = include_str!("../../editors/tree-sitter-wlk/queries/highlights.scm");
const TEXTMATE: &str = include_str!("../../editors/vscode/syntaxes/wlk.tmLanguage.json");
const SNIPPETS: &str = include_str!("../../editors/vscode/snippets/wlk.json");
const REFERENCE: &str = include_str!("../../docs/language.md");

/// Words that are read as names by the tree-sitter grammar: what stands behind a dot, and functions.
const NAMES: [&str; 15] = [
    "producer",
    "consumer",
    "index",
    "phase",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "sys",
    "proxy",
    "async",
    "order",
    "fetch_add",
    "exchange",
    "compare_and_swap",
];

/// The words in quotes of a text.
fn quoted(text: &'static str, quote: char) -> Vec<&'static str> {
    text.split(quote).skip(1).step_by(2).collect()
}

/// The words of the grammar of the reference, reserved or not.
fn words() -> Vec<&'static str> {
    let (_, grammar) = REFERENCE.split_once("```ebnf").unwrap();
    let all = quoted(grammar, '"').into_iter();
    let words = all.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
    let mut words: Vec<&str> = words.chain(text::words()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[test]
fn the_grammar_of_tree_sitter_has_every_word() {
    let known = quoted(TREE_SITTER, '\'');
    // A statement that is one word is a node, and no word, for queries.
    let statements = ["commit_group", "return", "break", "true", "false"];
    let marked = quoted(HIGHLIGHTS, '"');
    for word in words() {
        let reserved = text::words().any(|other| other == word);
        if !reserved && NAMES.contains(&word) {
            continue;
        }
        assert!(known.contains(&word), "grammar.js does not have `{word}`");
        let seen = marked.contains(&word) || statements.contains(&word);
        assert!(seen, "highlights.scm does not have `{word}`");
    }
    for word in marked
        .iter()
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    {
        let built_in = ["min", "max", "ceil_div", "abs"].contains(word) || NAMES.contains(word);
        assert!(
            built_in || words().contains(word),
            "the language has no `{word}`"
        );
    }
}

#[test]
fn the_textmate_grammar_has_every_word() {
    let grammar: serde_json::Value = serde_json::from_str(TEXTMATE).unwrap();
    let rules = grammar["patterns"].as_array().unwrap();
    let known: Vec<&str> = rules
        .iter()
        .flat_map(|rule| {
            rule["match"]
                .as_str()
                .unwrap()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
        })
        .collect();
    for word in words() {
        // `\b` stands before the first word of a group.
        assert!(
            known.contains(&word),
            "wlk.tmLanguage.json does not have `{word}`"
        );
    }
}

#[test]
fn snippets_are_protocols() {
    let snippets: serde_json::Value = serde_json::from_str(SNIPPETS).unwrap();
    let filled = regex_lite::Regex::new(r"\$\{\d+[:|]([^,}|]*)[^}]*\}").unwrap();
    let same = regex_lite::Regex::new(r"\$([1-9])").unwrap();
    let mut tried = 0;
    for (name, snippet) in snippets.as_object().unwrap() {
        let lines = snippet["body"].as_array().unwrap();
        let body: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
        let body = body.join("\n");
        let mut text = filled.replace_all(&body, "$1").into_owned();
        for found in same.captures_iter(&body) {
            let number = &found[1];
            let value = regex_lite::Regex::new(&format!(r"\$\{{{number}[:|]([^,}}|]*)")).unwrap();
            let value = value
                .captures(&body)
                .map_or("", |value| value.get(1).unwrap().as_str());
            text = text.replace(&found[0], value);
        }
        let text = text.replace("$0", "");
        let source = match snippet["prefix"].as_str().unwrap() {
            "protocol" => format!("{text}role r {{}}"),
            "for" | "row" => format!(
                "protocol p param N in 1.. pattern visits[N, N] role r[n in 0..N] {{ {text} }}"
            ),
            "turns" | "role" => format!("protocol p param N in 1.. param T in 1.. {text}"),
            "expect" => format!("protocol p role r {{}} {text}"),
            _ => format!("protocol p {text}"),
        };
        if let Err(found) = text::load(source.as_bytes()) {
            panic!(
                "{name}: {}",
                text::render(&found, "snippet", &source, false)
            );
        }
        tried += 1;
    }
    assert!(tried >= 5);
}
