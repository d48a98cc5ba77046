//! At which parameter values a protocol hangs, as a formula.

use crate::support::program::Folder;

fn condition(file: &str, options: &[&str]) -> (Folder, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(root.join("encodings").join(file)).unwrap();
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let shown = folder.run(&[&["condition", "p.wlk"], options].concat());
    (folder, shown)
}

#[test]
fn one_comparison() {
    let (_folder, shown) = condition("known_bugs/zero_tile_mainloop.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_conjunction() {
    let (_folder, shown) = condition("known_bugs/single_outputs_barrier.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_disjunction_narrowed() {
    let options = ["--set", "S=2", "-q"];
    let (_folder, shown) = condition("known_bugs/trip_counts_disagree.wlk", &options);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn never() {
    let (_folder, shown) = condition("known_bugs/named_count_fixed.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn always() {
    let (_folder, shown) = condition("checklist/cta_barrier_in_role.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn the_outside_has_a_certificate() {
    let options = ["-q", "--certificate", "c"];
    let (folder, shown) = condition("checklist/arrival_count.wlk", &options);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let certificate = folder.only("c");
    let certified = folder.run(&["certify", &certificate]);
    assert!(certified.starts_with("exit 0\n"), "{certified}");
}
