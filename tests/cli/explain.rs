//! `warplock explain` knows every word that the program prints.

use warplock::certificate::argument::CHECKERS;
use warplock::protocol::Property;
use warplock::report::Word;
use warplock::report::culprit::Cause;
use warplock::report::hang::Outcome;
use warplock::verdict::engine;

use crate::support::program::Folder;

/// The words, from the program's own lists.
fn words() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    all.extend(Word::ALL.map(|word| word.as_str().to_owned()));
    all.extend(Property::ALL.iter().map(|p| p.name().to_owned()));
    all.extend(Cause::ALL.map(|cause| {
        let name = serde_json::to_value(cause).unwrap();
        name.as_str().unwrap().to_owned()
    }));
    all.extend(CHECKERS.map(str::to_owned));
    all.extend(engine::ALL.map(str::to_owned));
    all.extend(Outcome::ALL.map(|outcome| outcome.as_str().to_owned()));
    all.extend(warplock::ptx::RULES.iter().map(|rule| rule.id.to_owned()));
    all.extend(warplock::lint::RULES.iter().map(|rule| rule.id.to_owned()));
    // Labels of a finding.
    let labels = [
        "obligations",
        "assumptions",
        "minimal",
        "trace",
        "blocked",
        "element",
        "waited for",
        "changed by",
        "completes",
        "decided by",
        "checked by",
        "wait-for graph",
        "notes",
        "hint",
    ];
    all.extend(labels.map(str::to_owned));
    all
}

fn unexplained(folder: &Folder, words: impl IntoIterator<Item = String>) -> Vec<String> {
    let known = |word: &String| {
        let arguments: Vec<&str> = std::iter::once("explain").chain(word.split(' ')).collect();
        folder.output(&arguments, b"").status.code() == Some(0)
    };
    words.into_iter().filter(|word| !known(word)).collect()
}

#[test]
fn every_word_of_the_programs_lists_is_explained() {
    let folder = Folder::new();
    let words = words();
    assert!(words.len() > 50, "{words:?}");
    assert_eq!(unexplained(&folder, words), Vec::<String>::new());
}

/// Each property, cause and rule has a text of its own, which names it or what it is about.
#[test]
fn texts_differ() {
    let folder = Folder::new();
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let causes = Cause::ALL.map(|cause| serde_json::to_value(cause).unwrap());
    let causes = causes.iter().map(|name| name.as_str().unwrap().to_owned());
    for word in causes.chain(CHECKERS.map(str::to_owned)) {
        let arguments: Vec<&str> = std::iter::once("explain").chain(word.split(' ')).collect();
        texts.push(folder.output(&arguments, b"").stdout);
    }
    let all = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all);
}

/// The names of obligations, as proofs of different rules have them.
#[test]
fn every_obligation_is_explained() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings");
    let folder = Folder::new();
    let mut kinds = std::collections::BTreeSet::new();
    for file in [
        "block_sparse/lock_rank.wlk",
        "checklist/arrival_count_fixed.wlk",
        "known_bugs/zero_tile_mainloop_fixed.wlk",
        "mbarrier/jacobi.wlk",
        "atomic/last_arriver.wlk",
    ] {
        let path = root.join(file);
        let arguments = ["check", "--format", "json", path.to_str().unwrap()];
        let output = folder.output(&arguments, b"");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let proof = &document["results"][0]["proof"];
        let obligations = proof["obligations"].as_array().unwrap();
        assert!(!obligations.is_empty(), "{file}");
        for obligation in obligations {
            let name = obligation.as_str().unwrap().split(':').next().unwrap();
            let kind = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
            if kinds.insert(kind.to_owned()) {
                assert_eq!(
                    unexplained(&folder, [name.to_owned()]),
                    Vec::<String>::new(),
                    "{file}"
                );
            }
        }
    }
    assert!(kinds.len() > 10, "{kinds:?}");
}
