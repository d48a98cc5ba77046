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
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    p.wlk: hangs iff TILES < 1
      outside: deadlock PROVED assuming TILES >= 1: all 5 obligations of the cut rule hold
      inside: nothing is proved
      tried: 10 points hang, 42 do not (all of TILES in 0..=6, L in 1..=7, and some beyond)
      # hangs, . does not, blank was not tried; TILES down, L across:
              1   2   3   4   5   6   7   8   9  10
          0   #   #   #   #   #   #   #   #   #   #
          1   .   .   .   .   .   .   .
          2   .   .   .   .   .   .   .
          3   .   .   .   .   .   .   .
          4   .   .   .   .   .   .   .
          5   .   .   .   .   .   .   .
          6   .   .   .   .   .   .   .
    --- stderr
    ");
}

#[test]
fn a_conjunction() {
    let (_folder, shown) = condition("known_bugs/single_outputs_barrier.wlk", &[]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    p.wlk: hangs iff D > 1 && T > 1
      outside: deadlock PROVED assuming D <= 1 || T <= 1: all 48 obligations of the cut rule hold
      inside: nothing is proved
      tried: 24 points hang, 13 do not (all of D in 1..=4, T in 0..=6, and some beyond)
      # hangs, . does not, blank was not tried; D down, T across:
              0   1   2   3   4   5   6   7   8   9
          1   .   .   .   .   .   .   .
          2   .   .   #   #   #   #   #   #   #   #
          3   .   .   #   #   #   #   #   #   #   #
          4   .   .   #   #   #   #   #   #   #   #
    --- stderr
    ");
}

#[test]
fn a_disjunction_narrowed() {
    let options = ["--set", "S=2", "-q"];
    let (_folder, shown) = condition("known_bugs/trip_counts_disagree.wlk", &options);
    insta::assert_snapshot!(shown, @"
    exit 0
    --- stdout
    p.wlk: hangs iff NC > NP || NP > S + NC
    --- stderr
    ");
}

#[test]
fn never() {
    let (_folder, shown) = condition("known_bugs/named_count_fixed.wlk", &[]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    p.wlk: never hangs
      outside: deadlock PROVED: all 10 obligations of the kernel hold
      tried: 0 points hang, 7 do not (all of W in 1..=7, and some beyond)
    --- stderr
    ");
}

#[test]
fn always() {
    let (_folder, shown) = condition("checklist/cta_barrier_in_role.wlk", &[]);
    insta::assert_snapshot!(shown, @r"
    exit 0
    --- stdout
    p.wlk: hangs at every value that was tried
      inside: nothing is proved
      tried: 100 points hang, 0 do not (all of A in 1..=7, B in 1..=7, and some beyond)
    --- stderr
    ");
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
