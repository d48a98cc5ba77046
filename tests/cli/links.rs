//! Links between pages lead somewhere, and paths that pages name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use regex_lite::Regex;

/// The folders whose files pages name by their path.
const FOLDERS: &str = "src|docs|tests|encodings|benchmarks|python|editors|fuzz";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in [
        "",
        "docs",
        "docs/decisions",
        "docs/concepts",
        "docs/howto",
        "docs/ptx",
        "docs/soundness",
        "docs/comparison",
        "docs/verdicts",
        "docs/crosschecks",
        "editors/vscode",
    ] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// A page without what stands between fences.
fn prose(page: &Path) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in fs::read_to_string(page).unwrap().lines() {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        if !inside && !fence {
            out.push_str(&format!("{line}\n"));
        }
    }
    out
}

/// The anchors of a page, as its headings make them.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").unwrap();
    let mut wrong = Vec::new();
    let mut links = 0;
    for page in pages() {
        for found in link.captures_iter(&prose(&page)) {
            let target = &found[1];
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let aim = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let known = aim.exists() && (anchor.is_empty() || anchors(&aim).contains(anchor));
            if !known {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn named_files_exist() {
    let path = Regex::new(&format!(r"^(?:{FOLDERS})/[\w./-]*[\w/]$")).unwrap();
    let mut wrong = Vec::new();
    let mut named = 0;
    for page in pages() {
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        for word in prose(&page).split('`').skip(1).step_by(2) {
            let is_path = path.is_match(word) && !word.contains("NAME");
            named += usize::from(is_path);
            if is_path && !root().join(word).exists() {
                wrong.push(format!("{}: {word}", page.display()));
            }
        }
    }
    assert!(named > 30, "only {named} paths were found");
    assert_eq!(wrong, Vec::<String>::new());
}
