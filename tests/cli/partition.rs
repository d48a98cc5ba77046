//! `--partition`: the parts of a set have together what the whole has, and nothing twice.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::binaries::UNBOUNDED;
use crate::support::program::Folder;

/// Protocols that are proved at once, one that hangs, one that is none, and a kernel with a copy, of
/// which the number of threads is not said.
fn set() -> Folder {
    let folder = Folder::new();
    for number in 0..6 {
        let name = format!("p{number}.wlk");
        folder.file(&name, format!("protocol p{number} role a {{ }}\n"));
    }
    folder.library("lock_n_block.wlk");
    folder.file("broken.wlk", "protocol\n");
    folder.file("kernel.ptx", UNBOUNDED);
    folder.file("copy.ptx", UNBOUNDED);
    folder
}

/// What is printed, line by line, without times.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let timeless = |line: &str| match serde_json::from_str::<BTreeMap<String, Value>>(line) {
        Ok(mut object) => {
            object.remove("seconds").expect("every result has a time");
            serde_json::to_string(&object).unwrap()
        }
        Err(_) => line.to_owned(),
    };
    text.lines().map(timeless).collect()
}

#[test]
fn parts_have_together_what_the_whole_has() {
    let folder = set();
    for command in ["check", "sweep"] {
        let arguments = [command, ".", "missing.wlk", "--format", "json-lines"];
        let whole = folder.output(&arguments, b"");
        let mut all = lines(&whole.stdout);
        let mut errors = lines(&whole.stderr);
        assert_eq!(all.len(), 7, "{all:?}");
        assert!(errors.len() > 3, "{errors:?}");
        for of in [1, 3, 50] {
            let mut parts: Vec<String> = Vec::new();
            let mut failures: Vec<String> = Vec::new();
            let mut worst = 0;
            for part in 1..=of {
                let partition = format!("{part}/{of}");
                let partition = ["--partition", &partition];
                let output = folder.output(&[&arguments[..], &partition].concat(), b"");
                parts.extend(lines(&output.stdout));
                failures.extend(lines(&output.stderr));
                worst = worst.max(output.status.code().unwrap());
            }
            for lines in [&mut all, &mut errors, &mut parts, &mut failures] {
                lines.sort_unstable();
            }
            assert_eq!(parts, all, "{command} in {of}");
            assert_eq!(failures, errors, "{command} in {of}");
            assert_eq!(Some(worst), whole.status.code());
        }
    }
}

#[test]
fn a_part_counts_only_its_own_copies() {
    let folder = set();
    let counted = |part: &str| {
        let shown = folder.run(&["sweep", ".", "-q", "--partition", part]);
        shown.matches("1 copy left out").count()
    };
    assert_eq!(counted("1/2") + counted("2/2"), 1);
}

#[test]
fn a_part_may_be_empty() {
    let folder = Folder::new();
    folder.file("p.wlk", "protocol p role a { }\n");
    let codes = ["1/2", "2/2"].map(|part| {
        let output = folder.output(&["check", ".", "-q", "--partition", part], b"");
        (output.status.code(), output.stdout.is_empty())
    });
    assert!(codes.contains(&(Some(0), true)), "{codes:?}");
    assert!(codes.contains(&(Some(0), false)), "{codes:?}");
}

#[test]
fn a_part_that_is_none_is_refused() {
    let folder = Folder::new();
    for (wrong, why) in [
        ("0/3", "counted from 1"),
        ("4/3", "counted from 1"),
        ("1/0", "counted from 1"),
        ("1", "expected I/N"),
        ("a/3", "expected I/N"),
    ] {
        let shown = folder.run(&["check", "p.wlk", "--partition", wrong]);
        assert!(
            shown.starts_with("exit 2\n") && shown.contains(why),
            "{shown}"
        );
    }
}
