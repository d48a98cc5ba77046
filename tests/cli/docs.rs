//! The examples of `docs/cli.md` do what the page shows.
//!
//! `WARPLOCK_WRITE_DOCS=1 cargo test --test cli docs::` writes the page anew.

use crate::support::program as cli_support;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_examples_of_the_page_are_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/cli.md")).unwrap();
    let mut actual = String::new();
    let mut examples = 0;
    let mut inside = false;
    for line in page.lines() {
        if let Some(arguments) = line.strip_prefix("$ warplock ").filter(|_| inside) {
            let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
                .args(arguments.split(' '))
                .current_dir(root)
                .output()
                .unwrap();
            let out = String::from_utf8(output.stdout).unwrap()
                + &String::from_utf8(output.stderr).unwrap();
            actual.push_str(&format!("{line}\n{}", cli_support::filtered(&out)));
            examples += 1;
        } else if !inside || line == "```" {
            actual.push_str(&format!("{line}\n"));
        }
        inside = match line {
            "```console" => true,
            "```" => false,
            _ => inside,
        };
    }
    assert!(examples >= 5, "only {examples} examples were found");
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(root.join("docs/cli.md"), &actual).unwrap();
    }
    assert_eq!(page, actual);
}
