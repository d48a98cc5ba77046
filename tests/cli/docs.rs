//! The examples of the pages do what the pages show.
//!
//! `WARPLOCK_WRITE_DOCS=1 cargo test --test cli docs::` writes the pages anew.

use crate::support::program as cli_support;
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a line of a shell prints in a folder.
fn printed(line: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_warplock")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|path| path.to_owned());
    let all = std::iter::once(program.to_owned()).chain(others);
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(all).unwrap())
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    cli_support::filtered(&(out + &String::from_utf8(output.stderr).unwrap()))
}

/// Whether these lines are shown by those, of which `...` stands for any.
fn shows(shown: &[&str], lines: &[&str]) -> bool {
    match (shown, lines) {
        ([], []) => true,
        ([first, rest @ ..], _) if first.trim() == "..." => {
            (0..=lines.len()).any(|skipped| shows(rest, &lines[skipped..]))
        }
        ([first, rest @ ..], [line, others @ ..]) => first == line && shows(rest, others),
        _ => false,
    }
}

/// The page as it should be if its examples are run in a folder, and how many there are.
fn rewritten(page: &str, folder: &Path) -> (String, usize) {
    let mut actual = String::new();
    let mut examples = 0;
    let mut blocks = page.split("```console\n");
    actual.push_str(blocks.next().unwrap());
    for block in blocks {
        let (block, rest) = block.split_once("\n```\n").unwrap();
        actual.push_str("```console\n");
        for example in format!("\n{block}\n").split("\n$ ").skip(1) {
            let (line, shown) = example.split_once('\n').unwrap_or((example, ""));
            let out = printed(line, folder);
            let lines: Vec<&str> = out.lines().collect();
            let filtered = cli_support::filtered(shown);
            let same = shows(&filtered.lines().collect::<Vec<_>>(), &lines);
            let kept = if same { shown } else { &out };
            let end = if kept.is_empty() { "" } else { "\n" };
            actual.push_str(&format!("$ {line}\n{}{end}", kept.trim_end_matches('\n')));
            examples += 1;
        }
        actual.push_str(&format!("```\n{rest}"));
    }
    (actual, examples)
}

fn check(name: &str, folder: &Path, least: usize) {
    let page = fs::read_to_string(root().join(name)).unwrap();
    let (actual, examples) = rewritten(&page, folder);
    assert!(examples >= least, "only {examples} examples were found");
    if std::env::var_os("WARPLOCK_WRITE_DOCS").is_some() {
        fs::write(root().join(name), &actual).unwrap();
    }
    assert_eq!(page, actual);
}

#[test]
fn the_examples_of_the_command_line_are_real() {
    check("docs/cli.md", root(), 15);
}

#[test]
fn the_examples_of_the_readme_are_real() {
    check("README.md", root(), 6);
}

#[test]
fn the_examples_of_the_pages_on_ptx_are_real() {
    for (page, least) in [
        ("ptx", 2),
        ("ptx/assumptions", 1),
        ("ptx/barriers", 1),
        ("ptx/clusters", 2),
        ("ptx/copies", 1),
        ("ptx/grids", 1),
        ("ptx/lints", 1),
        ("ptx/races", 1),
    ] {
        check(&format!("docs/{page}.md"), root(), least);
    }
}

#[test]
fn the_examples_of_the_pages_on_soundness_are_real() {
    check("docs/soundness.md", root(), 2);
    check("docs/soundness/cut.md", root(), 1);
}

#[test]
fn the_examples_of_the_page_on_verdicts_are_real() {
    check("docs/verdicts.md", root(), 3);
}

#[test]
fn the_examples_of_the_concepts_are_real() {
    for (page, least) in [
        ("phases", 3),
        ("rings", 4),
        ("lock_order", 1),
        ("residency", 2),
    ] {
        check(&format!("docs/concepts/{page}.md"), root(), least);
    }
}

/// Pages whose examples write files.
#[test]
fn the_examples_of_masks_and_repros_are_real() {
    for (page, least) in [("csr", 10), ("repro", 10)] {
        let folder = cli_support::Folder::new();
        let encodings = folder.path().join("encodings");
        std::os::unix::fs::symlink(root().join("encodings"), encodings).unwrap();
        check(&format!("docs/{page}.md"), folder.path(), least);
    }
}

#[test]
fn the_commands_of_the_tutorial_are_real() {
    let folder = cli_support::Folder::new();
    folder.kernel("ring.ptx");
    check("docs/tutorial.md", folder.path(), 9);
}

#[test]
fn lines_may_be_left_out_and_no_others() {
    let lines = ["a", "b", "c"];
    assert!(shows(&["a", "  ...", "c"], &lines) && shows(&["...", "a", "b", "c"], &lines));
    assert!(
        !shows(&["a", "..."], &["b"])
            && !shows(&["a"], &lines)
            && !shows(&["a", "...", "b"], &lines)
    );
}
