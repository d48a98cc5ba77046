//! Whole documents that machines and browsers read, compared to the letter: a part of one may be right in a document that is not.
//!
//! `WARPLOCK_WRITE_DOCS=1 cargo test --test cli documents::` writes them anew.

use std::fs;
use std::path::Path;

use crate::support::program::Folder;

/// Two members, of which one does not come.
const TEXT: &str = "protocol p
mbarrier b { arrivals: 2 }
role x {
    arrive b
}
role y {
    wait b 0
}
";

/// What a page holds of other files of the source, as they are.
const PARTS: [(&str, &str); 2] = [
    (
        include_str!("../../src/report/html/page.css"),
        "[page.css]\n",
    ),
    (include_str!("../../src/report/html/page.js"), "[page.js]\n"),
];

/// What is printed, without what differs from run to run and from version to version, and with parts by the names of their files.
fn printed(format: &str) -> String {
    let folder = Folder::new();
    folder.file("p.wlk", TEXT);
    let output = folder.output(&["check", "p.wlk", "--format", format], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    let text = PARTS
        .iter()
        .fold(text, |text, (part, name)| text.replace(part, name));
    let text = text.replace(env!("CARGO_PKG_VERSION"), "[version]");
    let seconds = regex_lite::Regex::new("[0-9]+\\.[0-9]+ s\\b").unwrap();
    let text = seconds.replace_all(&text, "[time]");
    let seconds = regex_lite::Regex::new("\"seconds\": [0-9.]+").unwrap();
    let text = seconds.replace_all(&text, "\"seconds\": 0");
    let linked = regex_lite::Regex::new("\"z3\": \"[0-9.]+\"").unwrap();
    let text = linked.replace_all(&text, "\"z3\": \"[version]\"");
    let solver = regex_lite::Regex::new("Z3 [0-9.]+").unwrap();
    solver.replace_all(&text, "Z3 [version]").into_owned()
}

fn check(format: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/documents");
    let path = path.join(file);
    let text = printed(format);
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}

#[test]
fn sarif() {
    check("sarif", "refuted.sarif");
}

#[test]
fn html() {
    check("html", "refuted.html");
}

#[test]
fn junit() {
    check("junit", "refuted.xml");
}

#[test]
fn markdown() {
    check("markdown", "refuted.md");
}
