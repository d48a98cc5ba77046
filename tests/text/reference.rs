//! The examples of the language reference are protocols, and its word lists are complete.

use warplock::text;

const REFERENCE: &str = include_str!("../../docs/language.md");

/// Words of the grammar that mean something in one place and are names elsewhere.
const IN_ONE_PLACE: [&str; 43] = [
    "orders",
    "unknown",
    "arrivals",
    "explicit",
    "mandatory",
    "copy",
    "producer",
    "consumer",
    "index",
    "phase",
    "memory",
    "tensor",
    "red",
    "st",
    "cta",
    "cluster",
    "gpu",
    "sys",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "proxy",
    "done",
    "waiting",
    "passes",
    "assuming",
    "at",
    "backing",
    "completes",
    "count",
    "launch",
    "order",
    "reads",
    "resident",
    "row",
    "then",
    "warp",
    "where",
    "writes",
    "fetch_add",
    "exchange",
    "compare_and_swap",
];

fn examples() -> Vec<&'static str> {
    REFERENCE
        .split("```wlk\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect()
}

#[test]
fn the_examples_load_and_are_laid_out() {
    let examples = examples();
    assert!(examples.len() >= 5);
    for source in examples {
        if let Err(found) = text::load(source.as_bytes()) {
            panic!("{}", text::render(&found, "language.md", source, false));
        }
        assert_eq!(text::format(source).as_deref(), Ok(source));
    }
}

#[test]
fn the_reserved_words_are_those_of_the_reference() {
    let (_, list) = REFERENCE.split_once("These words are reserved:").unwrap();
    let (list, _) = list.split_once("\n\nand `min`").unwrap();
    let words: Vec<&str> = list
        .split_whitespace()
        .map(|w| w.trim_matches('`'))
        .collect();
    for word in &words {
        let source = format!("protocol p role r {{ var {word} = 0 }}");
        assert!(text::load(source.as_bytes()).is_err(), "`{word}` is a name");
    }
    let mut sorted = words.clone();
    sorted.sort_unstable();
    assert_eq!(words, sorted);
    for word in IN_ONE_PLACE {
        let reserved = words.contains(&word);
        let source = format!("protocol p role r {{ var {word} = 0 }}");
        assert_eq!(text::load(source.as_bytes()).is_err(), reserved, "`{word}`");
    }
    // Every other word of the grammar is reserved, too.
    let (_, grammar) = REFERENCE.split_once("```ebnf").unwrap();
    for quoted in grammar.split('"').skip(1).step_by(2) {
        let is_word = quoted.starts_with(|c: char| c.is_ascii_lowercase())
            && quoted.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_word && !IN_ONE_PLACE.contains(&quoted) {
            assert!(words.contains(&quoted), "`{quoted}` is not listed");
        }
    }
}
