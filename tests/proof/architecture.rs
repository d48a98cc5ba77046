//! docs/architecture.md says what may import what; the code does so.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use regex_lite::Regex;

use super::boundary::lines;
use super::boundary::sources;

/// The path of a module in its crate.
type Module = Vec<String>;

const PAGE: &str = include_str!("../../docs/architecture.md");

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The files of a crate by their modules. The module of the crate itself, what is below `others`, and what is compiled
/// for tests alone are left out.
fn modules(root: &Path, others: &[&str]) -> BTreeMap<Module, PathBuf> {
    let mut files = Vec::new();
    sources(root, &mut files);
    let mut found = BTreeMap::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap().with_extension("");
        let mut module: Module = path
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect();
        if module.last().unwrap() == "mod" {
            module.pop();
        }
        let last = module.last().unwrap().as_str();
        let tests = last.starts_with("tests_") || last.ends_with("tests") || last == "samples";
        let tests = tests || module[0] == "tests";
        let of_crate = module.len() == 1 && ["lib", "main"].contains(&last);
        if !tests && !of_crate && !others.contains(&module[0].as_str()) {
            found.insert(module, file);
        }
    }
    found
}

/// What each module imports of its crate. A module may use those below it; that is no import.
fn imports(modules: &BTreeMap<Module, PathBuf>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let path = Regex::new(r"\b(?:crate|self|super)(?:::\w+)+").unwrap();
    let mut found = BTreeMap::new();
    for (module, file) in modules {
        let text = fs::read_to_string(file).unwrap();
        let mut imported = BTreeSet::new();
        for written in lines(&text).flat_map(|line| path.find_iter(line)) {
            let mut target = module.clone();
            for (at, part) in written.as_str().split("::").enumerate() {
                match part {
                    "crate" => target.clear(),
                    "self" => {}
                    "super" if at == 0 || target.len() < module.len() => {
                        target.pop();
                    }
                    _ => target.push(part.to_owned()),
                }
            }
            // What follows the module is an item of it.
            while !target.is_empty() && !modules.contains_key(&target) {
                target.pop();
            }
            if !target.is_empty() && !target.starts_with(module) {
                imported.insert(modules.get_key_value(&target).unwrap().0);
            }
        }
        found.insert(module, imported);
    }
    found
}

/// The rows of the tables below a heading of the page, without their heads.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let section = PAGE
        .split("\n## ")
        .find(|section| section.lines().next() == Some(heading))
        .unwrap_or_else(|| panic!("docs/architecture.md has no section `{heading}`"));
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| {
            let cell = line.strip_prefix("| ").unwrap_or_default();
            cell.starts_with(|first: char| first == '`' || first.is_ascii_digit())
        })
        .map(cells)
        .collect();
    assert!(!rows.is_empty(), "{heading}");
    rows
}

fn quoted(cell: &'static str) -> BTreeSet<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// What each room imports, from the code.
fn of_rooms(modules: &BTreeMap<Module, PathBuf>) -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, imported) in imports(modules) {
        let room = rooms.entry(module[0].clone()).or_default();
        room.extend(imported.into_iter().map(|other| other[0].clone()));
        room.remove(&module[0]);
    }
    rooms
}

/// The table of rooms is what the code does, and each room stands below those that it imports, but for these.
fn agree(heading: &str, modules: &BTreeMap<Module, PathBuf>, upwards: &[(&str, &str)]) {
    let found = of_rooms(modules);
    let mut said = BTreeMap::new();
    let mut above = BTreeSet::new();
    let mut up = BTreeSet::new();
    for row in rows(heading) {
        let [_, room, _, imported, _] = row[..] else {
            panic!("{row:?}");
        };
        let room = quoted(room).pop_first().unwrap();
        let imported = quoted(imported);
        up.extend(
            imported
                .difference(&above)
                .map(|other| (room.clone(), other.clone())),
        );
        above.insert(room.clone());
        said.insert(room, imported);
    }
    for (room, imported) in &found {
        let row = said
            .get(room)
            .unwrap_or_else(|| panic!("docs/architecture.md, {heading}: no row for `{room}`"));
        assert_eq!(imported, row, "docs/architecture.md, {heading}: `{room}`");
    }
    let rooms = |map: &BTreeMap<String, BTreeSet<String>>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(rooms(&found), rooms(&said), "{heading}");
    let upwards: BTreeSet<(String, String)> = upwards
        .iter()
        .map(|(room, other)| ((*room).to_owned(), (*other).to_owned()))
        .collect();
    assert_eq!(
        up, upwards,
        "{heading}: rooms that import what stands below them"
    );
}

fn library() -> BTreeMap<Module, PathBuf> {
    modules(&src(), &["artifacts", "bin", "core", "kernel"])
}

#[test]
fn rooms_import_what_the_page_says() {
    agree("Rooms of the library", &library(), &[]);
    let kernel = modules(&src().join("kernel"), &[]);
    agree("Rooms of the kernel crate", &kernel, &[("meaning", "ir")]);
    let program = modules(&src().join("bin/warplock"), &[]);
    agree("Files of the program", &program, &[]);
}

/// The sizes of the circles of more than four files, with the folder in which all of their files are.
fn circles(modules: &BTreeMap<Module, PathBuf>, below: &str) -> Vec<(usize, String)> {
    let imports = imports(modules);
    let mut graph: DiGraph<&Module, ()> = DiGraph::new();
    let nodes: BTreeMap<&Module, _> = imports
        .keys()
        .map(|module| (*module, graph.add_node(module)))
        .collect();
    for (module, imported) in &imports {
        for other in imported {
            graph.add_edge(nodes[module], nodes[other], ());
        }
    }
    let circles = tarjan_scc(&graph).into_iter();
    let large = circles.filter(|circle| circle.len() > 4);
    large
        .map(|circle| {
            let mut folder = graph[circle[0]].clone();
            while !circle.iter().all(|node| graph[*node].starts_with(&folder)) {
                folder.pop();
            }
            (circle.len(), format!("{below}{}", folder.join("/")))
        })
        .collect()
}

#[test]
fn files_import_each_other_where_the_page_says() {
    let mut found = circles(&library(), "");
    found.extend(circles(&modules(&src().join("kernel"), &[]), "kernel/"));
    found.extend(circles(&modules(&src().join("bin/warplock"), &[]), "bin/"));
    let said: Vec<(usize, String)> = rows("Circles")
        .into_iter()
        .map(|row| (row[1].parse().unwrap(), row[2].trim_matches('`').to_owned()))
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    assert_eq!(found, said);
}

#[test]
fn long_files_are_on_the_page() {
    let mut files = Vec::new();
    sources(&src(), &mut files);
    let mut most = BTreeMap::new();
    for row in rows("Files above 500 lines") {
        most.insert(row[1].trim_matches('`'), row[2].parse::<usize>().unwrap());
    }
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let count = lines(&text).filter(|line| !line.is_empty()).count();
        let path = file.strip_prefix(src()).unwrap().to_str().unwrap();
        match most.remove(path) {
            None if count > 500 => wrong.push(format!("{path} has {count} lines and no row")),
            Some(most) if count > most => {
                wrong.push(format!("{path} has {count} lines, more than {most}"))
            }
            Some(_) if count <= 500 => {
                wrong.push(format!("{path} has {count} lines and needs no row"))
            }
            _ => {}
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(most.is_empty(), "no such files: {most:?}");
}

#[test]
fn imports_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;");
    write(
        "a/mod.rs",
        "pub mod below;\npub use self::below::Thing;\nuse crate::b;",
    );
    write(
        "a/below.rs",
        "// crate::a\nuse super::super::b::Other;\nlet x = crate::a::Thing::new();",
    );
    write(
        "b.rs",
        "use std::fmt;\n#[cfg(test)]\nmod tests {\nuse crate::a;\n}",
    );
    let modules = modules(folder.path(), &[]);
    let shown: Vec<String> = imports(&modules)
        .into_iter()
        .map(|(module, imported)| {
            let imported: Vec<String> = imported.into_iter().map(|other| other.join("/")).collect();
            format!("{}: {}", module.join("/"), imported.join(" "))
        })
        .collect();
    assert_eq!(shown, ["a: b", "a/below: a b", "b: "]);
}
