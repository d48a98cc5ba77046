//! Every protocol of the library loads, says what it expects, and is in the formatter's layout.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use warplock::text;

fn protocols(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            protocols(&path, found);
        } else if path.extension().is_some_and(|e| e == "wlk") {
            found.push(path);
        }
    }
}

fn library() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("encodings");
    protocols(&root, &mut found);
    found.sort();
    assert!(found.len() >= 20, "only {} protocols found", found.len());
    found
}

#[test]
fn every_protocol_loads_and_expects_something() {
    for path in library() {
        let source = fs::read(&path).unwrap();
        let shown = path.display().to_string();
        let protocol = match text::load(&source) {
            Ok(protocol) => protocol,
            Err(found) => panic!(
                "{}",
                text::render(&found, &shown, &String::from_utf8_lossy(&source), false)
            ),
        };
        assert!(!protocol.expectations.is_empty(), "{shown} expects nothing");
        assert_eq!(
            path.file_stem().unwrap().to_str(),
            Some(protocol.name.as_str()),
            "{shown} is named after its protocol"
        );
    }
}

#[test]
fn every_protocol_is_in_the_layout_of_the_formatter() {
    for path in library() {
        let source = fs::read_to_string(&path).unwrap();
        let formatted = text::format(&source).unwrap();
        assert!(
            formatted == source,
            "{} is not formatted; it should read\n{formatted}",
            path.display()
        );
    }
}
