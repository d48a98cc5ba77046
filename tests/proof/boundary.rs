//! What decides PROVED rests on nothing that searches for proofs, hunts for counterexamples or words verdicts: the
//! rooms below import what stands on their list, and nothing else.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// A room, the rooms it may import beside itself, and the libraries.
const ROOMS: [(&str, &[&str], &[&str]); 7] = [
    ("protocol", &[], &["serde"]),
    (
        "text",
        &["protocol"],
        &["ariadne", "logos", "serde", "strsim"],
    ),
    ("deadline", &[], &[]),
    ("fresh", &["deadline"], &["z3"]),
    (
        "semantics",
        &["protocol", "deadline"],
        &["rand", "rand_chacha", "rustc_hash", "serde", "thiserror"],
    ),
    (
        "trusted",
        &["protocol", "deadline"],
        &["serde", "thiserror"],
    ),
    (
        "certificate",
        &[
            "protocol",
            "semantics",
            "deadline",
            "fresh",
            "text",
            "trusted",
        ],
        &[
            "itertools",
            "num_bigint",
            "serde",
            "serde_with",
            "sha2",
            "tempfile",
            "z3",
        ],
    ),
];

/// Certificates hold the text of a protocol, which is read again; nothing else of the checker reads texts.
const READS_TEXTS: &str = "certificate/manifest.rs";

pub fn sources(at: &Path, into: &mut Vec<PathBuf>) {
    if at.is_dir() {
        for entry in fs::read_dir(at).unwrap() {
            sources(&entry.unwrap().path(), into);
        }
    } else if at.extension().is_some_and(|ending| ending == "rs") {
        into.push(at.to_owned());
    }
}

/// The lines of a file that are compiled without tests, but for comments.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("#[cfg(test)]\nmod tests {").next();
    let lines = text.unwrap_or_default().lines().map(str::trim);
    lines.filter(|line| !line.starts_with("//"))
}

/// The name at the beginning of a text.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Whether something named at the beginning of a path is a module beside or below a file, or a type in its scope.
fn is_local(file: &Path, named: &str) -> bool {
    let beside = file.parent().unwrap();
    let folders = [beside.to_owned(), file.with_extension("")];
    let exists = |folder: &PathBuf| {
        folder.join(named).is_dir() || folder.join(format!("{named}.rs")).is_file()
    };
    folders.iter().any(exists) || named.starts_with(char::is_uppercase)
}

/// What a file imports and may not.
fn forbidden(src: &Path, file: &Path, rooms: &[&str], libraries: &[&str]) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let path = file.strip_prefix(src).unwrap();
    // `room/part/mod.rs` and `room/part.rs` are two modules deep.
    let parts = path.components().count();
    let depth = parts - usize::from(path.file_name().is_some_and(|name| name == "mod.rs"));
    let mut found = Vec::new();
    for line in lines(&text) {
        let mut said = |what: &str| found.push(format!("{}: {what}: {line}", path.display()));
        for (at, _) in line.match_indices("crate::") {
            let room = name(&line[at + "crate::".len()..]);
            let text = room == "text" && path != Path::new(READS_TEXTS);
            if !rooms.contains(&room) || path.starts_with("certificate") && text {
                said(room);
            }
        }
        for (at, _) in line.match_indices("super::") {
            let supers = line[at..]
                .split("super::")
                .take_while(|part| part.is_empty());
            if supers.count() >= depth {
                said("above the room");
            }
        }
        let imported = line.strip_prefix("pub ").unwrap_or(line);
        let Some(imported) = imported.strip_prefix("use ") else {
            continue;
        };
        let first = name(imported);
        let known = ["crate", "super", "self", "std"].contains(&first);
        if !known && !libraries.contains(&first) && !is_local(file, first) {
            said(first);
        }
    }
    found
}

#[test]
fn trusted_rooms_import_what_they_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    let mut found = Vec::new();
    for (room, others, libraries) in ROOMS {
        let mut files = Vec::new();
        let folder = src.join(room);
        match folder.is_dir() {
            true => sources(&folder, &mut files),
            false => files.push(folder.with_extension("rs")),
        }
        let rooms: Vec<&str> = others.iter().copied().chain([room]).collect();
        for file in files {
            let name = file.file_stem().unwrap().to_string_lossy();
            // Compiled for tests alone.
            if name.ends_with("tests") || name == "samples" {
                continue;
            }
            seen += 1;
            found.extend(forbidden(&src, &file, &rooms, libraries));
        }
    }
    assert!(seen >= 150, "{seen} files");
    assert_eq!(found, Vec::<String>::new(), "{}", found.join("\n"));
}

/// The kernel stays small enough to be read.
#[test]
fn the_kernel_is_small() {
    let mut files = Vec::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trusted");
    sources(&src, &mut files);
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap().lines().count();
    let lines: usize = files.iter().map(read).sum();
    assert!((1_000..=6_000).contains(&lines), "{lines} lines");
}

#[test]
fn what_is_not_on_the_list_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let room = folder.path().join("certificate");
    fs::create_dir(&room).unwrap();
    let file = room.join("rule.rs");
    let shown = |text: &str| {
        fs::write(&file, text).unwrap();
        forbidden(folder.path(), &file, &["certificate", "protocol"], &["z3"])
    };
    assert_eq!(
        shown("use crate::protocol::Protocol;\nuse super::term;"),
        [""; 0]
    );
    assert_eq!(shown("//! [`crate::proof`]\nuse z3::Solver;"), [""; 0]);
    let proof = "use crate::proof::sample;";
    assert_eq!(
        shown(proof),
        [format!("certificate/rule.rs: proof: {proof}")]
    );
    let inside = "let found = crate::hunt::at(protocol);";
    assert_eq!(
        shown(inside),
        [format!("certificate/rule.rs: hunt: {inside}")]
    );
    let above = "use super::super::verdict::Verdict;";
    assert_eq!(
        shown(above),
        [format!("certificate/rule.rs: above the room: {above}")]
    );
    let text = "use crate::text;";
    assert_eq!(shown(text), [format!("certificate/rule.rs: text: {text}")]);
    let library = "use petgraph::Graph;";
    assert_eq!(
        shown(library),
        [format!("certificate/rule.rs: petgraph: {library}")]
    );
}
