//! Every protocol of the library loads, says what it expects, and is in the formatter's layout.

use crate::library::protocols;
use std::path::Path;

use warplock::text;

fn library() -> Vec<(String, String)> {
    let found = protocols();
    assert!(found.len() >= 20, "only {} protocols found", found.len());
    found
}

#[test]
fn every_protocol_loads_and_expects_something() {
    for (shown, source) in library() {
        let protocol = match text::load(source.as_bytes()) {
            Ok(protocol) => protocol,
            Err(found) => panic!("{}", text::render(&found, &shown, &source, false)),
        };
        assert!(!protocol.expectations.is_empty(), "{shown} expects nothing");
        assert_eq!(
            Path::new(&shown).file_stem().unwrap().to_str(),
            Some(protocol.name.as_str()),
            "{shown} is named after its protocol"
        );
    }
}

#[test]
fn every_protocol_is_in_the_layout_of_the_formatter() {
    for (shown, source) in library() {
        let formatted = text::format(&source).unwrap();
        assert!(
            formatted == source,
            "{shown} is not formatted; it should read\n{formatted}"
        );
    }
}
