//! Every protocol of the repository parses, and the queries fit the grammar.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use tree_sitter::Node;
use tree_sitter::Parser;
use tree_sitter::Query;
use tree_sitter_wlk::HIGHLIGHTS;
use tree_sitter_wlk::LANGUAGE;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn protocols(at: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            protocols(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "wlk") {
            into.push(path);
        }
    }
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&LANGUAGE.into()).unwrap();
    parser
}

/// The first place that does not parse, and what is missing there.
fn error(node: Node<'_>) -> Option<String> {
    if node.is_error() || node.is_missing() {
        let at = node.start_position();
        return Some(format!("line {}: {}", at.row + 1, node.to_sexp()));
    }
    let mut cursor = node.walk();
    let found = node.children(&mut cursor).find_map(error);
    found
}

fn check(name: &str, text: &str) {
    let tree = parser().parse(text, None).unwrap();
    if let Some(error) = error(tree.root_node()) {
        panic!("{name}: {error}");
    }
}

#[test]
fn encodings_parse() {
    let mut files = Vec::new();
    protocols(&root().join("encodings"), &mut files);
    assert!(files.len() > 100, "{}", files.len());
    for file in files {
        check(&file.display().to_string(), &fs::read_to_string(&file).unwrap());
    }
}

#[test]
fn examples_of_the_reference_parse() {
    let page = fs::read_to_string(root().join("docs/language.md")).unwrap();
    let examples = page.split("```wlk\n").skip(1);
    let examples: Vec<&str> = examples.filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 10);
    for example in examples {
        check("docs/language.md", example);
    }
}

#[test]
fn a_value_that_is_left_out_is_told_from_the_next_statement() {
    let text = "protocol p barrier b { arrivals: 1 } semaphore red = 0
        role r { sync b x[0] = 1 sync b x if x { } arrive b if x == 0 { red += 1 } wait b x y = x }";
    check("values", text);
    let tree = parser().parse(text, None).unwrap().root_node().to_sexp();
    assert_eq!(tree.matches("(update").count(), 3, "{tree}");
    assert_eq!(tree.matches("(if").count(), 2, "{tree}");
}

#[test]
fn results_of_atomic_operations_parse() {
    let text = "protocol p semaphore s = 0 role r {
        let t = fetch_add.acq_rel.gpu(s, 1) var u = exchange(s, 0)
        wait.acquire.gpu compare_and_swap(s, 0, 1) wait s (t + 1) % 2 wait b p.phase u = t }";
    check("atomic operations", text);
}

#[test]
fn mistakes_are_found() {
    let tree = parser().parse("protocol p role r { wait }", None).unwrap();
    assert!(error(tree.root_node()).is_some());
}

#[test]
fn queries_fit_the_grammar() {
    let query = Query::new(&LANGUAGE.into(), HIGHLIGHTS).unwrap();
    assert!(query.capture_names().contains(&"keyword"));
}
