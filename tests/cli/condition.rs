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

/// The lines up to what was tried, without the values that were, which depend on the machine.
fn claims(shown: &str) -> String {
    let lines = shown
        .lines()
        .take_while(|line| !line.starts_with("  tried:"))
        .filter(|line| !line.starts_with("    at ") && !line.starts_with("    and at "));
    let digits = |line: &str| {
        // So does the number of values inside.
        let mut out = String::new();
        let mut words = line.split_inclusive(' ').peekable();
        while let Some(word) = words.next() {
            let counted = words.peek().is_some_and(|next| next.trim() == "values");
            out.push_str(if counted { "[n] " } else { word });
        }
        out
    };
    lines.map(|line| digits(line) + "\n").collect()
}

#[test]
fn one_comparison() {
    let (_folder, shown) = condition("known_bugs/zero_tile_mainloop.wlk", &[]);
    insta::assert_snapshot!(claims(&shown), @r"
    exit 0
    --- stdout
    p.wlk: hangs only if TILES < 1; at all [n] values tried there it does
      outside: deadlock PROVED assuming TILES >= 1: all 11 obligations of the kernel hold
      inside: not proved; a run hangs at each of the [n] values tried
    ");
    assert!(shown.contains("TILES down, L across:\n"), "{shown}");
}

#[test]
fn a_conjunction() {
    let (_folder, shown) = condition("known_bugs/single_outputs_barrier.wlk", &[]);
    insta::assert_snapshot!(claims(&shown), @r"
    exit 0
    --- stdout
    p.wlk: hangs only if D > 1 && T > 1; at all [n] values tried there it does
      outside: deadlock PROVED assuming D <= 1 || T <= 1: all 52 obligations of the cut rule hold
      inside: not proved; a run hangs at each of the [n] values tried
    ");
}

#[test]
fn a_disjunction_narrowed() {
    let options = ["--set", "S=2"];
    let (_folder, shown) = condition("known_bugs/trip_counts_disagree.wlk", &options);
    let first =
        "p.wlk: hangs only if NC > NP || NP > S + NC; at all [n] values tried there it does";
    assert!(claims(&shown).contains(first), "{shown}");
}

#[test]
fn where_every_value_is_tried_the_condition_is_exact() {
    let folder = Folder::new();
    let text = "protocol p
param A in 0..=3
param B in 0..=3
semaphore s = 0
role x { for i in 0..A { s += 1 } }
role y { wait s >= B }
";
    folder.file("p.wlk", text);
    let shown = folder.run(&["condition", "p.wlk"]);
    assert!(shown.contains("p.wlk: hangs iff B > A\n"), "{shown}");
    assert!(
        shown.contains("inside: all 6 values were tried, and a run hangs at each"),
        "{shown}"
    );
}

/// The values inside are more than those of the box that is tried first.
#[test]
fn the_inside_is_proved_where_parameters_have_an_end() {
    let folder = Folder::new();
    let text = "protocol p
param A in 0..
param B in 0..
semaphore s = 0
role x { for i in 0..A { s += 1 } }
role y { wait s >= B }
";
    folder.file("p.wlk", text);
    let shown = folder.run(&[
        "condition",
        "p.wlk",
        "--assume",
        "A <= 20",
        "--assume",
        "B <= 20",
    ]);
    insta::assert_snapshot!(shown.split("  tried:").next().unwrap(), @r"
        exit 0
        --- stdout
        p.wlk: hangs iff B > A
          outside: deadlock PROVED assuming B <= A: all 2 obligations of the cut rule hold
          inside: all 210 values were tried, and a run hangs at each
            at A = 0, B in 1..=20
            at A = 1, B in 2..=20
            at A = 2, B in 3..=20
            at A = 3, B in 4..=20
            at A = 4, B in 5..=20
            at A = 5, B in 6..=20
            at A = 6, B in 7..=20
            at A = 7, B in 8..=20
            and at 78 more
        ");
    let shown = folder.run(&["condition", "p.wlk", "--assume", "A <= 20"]);
    assert!(
        shown.contains("p.wlk: hangs only if B > A; at all "),
        "{shown}"
    );
}

/// No one proof covers rounds without a barrier and a grid that is resident, and each is proved.
#[test]
fn a_negation_is_proved_case_by_case() {
    let (_folder, shown) = condition("counter/grid_barrier.wlk", &["--timeout", "200"]);
    insta::assert_snapshot!(claims(&shown), @r"
        exit 0
        --- stdout
        p.wlk: hangs only if I > 0 && G > R; at all [n] values tried there it does
          outside: deadlock PROVED assuming I <= 0: all 2 obligations of the kernel hold
          outside: deadlock PROVED assuming G <= R: all 3 obligations of the kernel hold
          inside: not proved; a run hangs at each of the [n] values tried
        ");
}

/// A formula that fits a small box only: the launch needs a grid that is not resident, and more than one tile.
#[test]
fn a_condition_on_what_the_text_computes() {
    let (_folder, shown) = condition("block_sparse/causal_reversed_ascending_launch.wlk", &[]);
    insta::assert_snapshot!(claims(&shown), @r"
    exit 0
    --- stdout
    p.wlk: hangs only if N > R; at all [n] values tried there it does
      where N = ceil_div(sk, Tn)
      outside: deadlock PROVED assuming N <= R: all 13 obligations of the kernel hold
      inside: not proved; a run hangs at each of the [n] values tried
    ");
}

#[test]
fn a_bound_that_some_row_exceeds() {
    let (_folder, shown) = condition("block_sparse/n_bound_per_cta.wlk", &[]);
    let first = "p.wlk: hangs only if count(m in m_min(N - 1)..M where n_max(m) > N) > 0; at all [n] values tried there it does";
    assert!(claims(&shown).contains(first), "{shown}");
    assert!(shown.starts_with("exit 0\n"), "{shown}");
}

#[test]
fn the_shape_of_a_pattern() {
    let options = ["--set", "R=1", "--certificate", "c"];
    let (folder, shown) = condition("block_sparse/lock_n_block.wlk", &options);
    let shape =
        "  pattern: hangs only if for some m, visits[n, m] holds for an n and not for a smaller one
    otherwise: deadlock PROVED: all 7 obligations of the ticket rule hold
    of small patterns like that, all ";
    assert!(shown.contains(shape), "{shown}");
    let written: Vec<_> = std::fs::read_dir(folder.path().join("c"))
        .unwrap()
        .collect();
    assert_eq!(written.len(), 2, "{written:?}");
    for certificate in written {
        let certificate = certificate.unwrap().path();
        let certified = folder.run(&["certify", certificate.to_str().unwrap()]);
        assert!(certified.starts_with("exit 0\n"), "{certified}");
    }
}

#[test]
fn a_kernel() {
    let folder = Folder::new();
    let kernel = folder.kernel("ring.ptx");
    let shown = folder.run(&[
        "condition",
        kernel.to_str().unwrap(),
        "--entry",
        "ring_producer_one_round_short",
        "-q",
    ]);
    assert!(
        shown.contains("ring_producer_one_round_short: hangs only if param_2 > 0; at all "),
        "{shown}"
    );
}

#[test]
fn never() {
    let (_folder, shown) = condition("known_bugs/named_count_fixed.wlk", &[]);
    insta::assert_snapshot!(claims(&shown), @r"
    exit 0
    --- stdout
    p.wlk: never hangs
      outside: deadlock PROVED: all 10 obligations of the kernel hold
    ");
}

#[test]
fn always() {
    let (_folder, shown) = condition("checklist/cta_barrier_in_role.wlk", &[]);
    insta::assert_snapshot!(claims(&shown), @r"
    exit 0
    --- stdout
    p.wlk: hangs at all [n] values tried
      inside: not proved; a run hangs at each of the [n] values tried
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

#[test]
fn check_takes_several_files() {
    let folder = Folder::new();
    let text = "protocol p\nparam A in 0..=3\nsemaphore s = 0\nrole x { s += 1 }\nrole y { wait s >= A }\n";
    folder.file("a.wlk", text);
    folder.file("b.wlk", text.replace("A", "B"));
    insta::assert_snapshot!(folder.run(&["check", "--condition", "-q", "a.wlk", "b.wlk"]), @r"
    exit 0
    --- stdout
    a.wlk: hangs iff A > 1
    b.wlk: hangs iff B > 1
    --- stderr
    ");
}

/// Of values that contradict each other nothing is said: neither that they hang nor that they never do.
#[test]
fn contradictory_assumptions() {
    let nothing = "no parameter values satisfy the declared domain and the assumptions: there is nothing to decide about";
    let folder = Folder::new();
    let text = "protocol p\nparam A in 0..=9\nparam B in 0..=9\nsemaphore s = 0\nrole x { for i in 0..A { s += 1 } }\nrole y { wait s >= B }\n";
    folder.file("p.wlk", text);
    folder.file("seen.txt", "a thread at p.wlk:6\n");
    let both = ["--assume", "A > B", "--assume", "B > A"];
    let said = |command: &[&str]| folder.run(&[command, &both].concat());
    let expected = |line: &str| format!("exit 4\n--- stdout\n{line}\n--- stderr\n");
    assert_eq!(
        said(&["condition", "p.wlk"]),
        expected(&format!("p.wlk: UNKNOWN: {nothing}"))
    );
    assert_eq!(
        said(&["repro", "-q", "p.wlk"]),
        expected(&format!("p.wlk: deadlock: UNKNOWN: {nothing}"))
    );
    assert_eq!(
        said(&["repair", "p.wlk"]),
        expected(&format!(
            "p.wlk: no property was refuted, so there is nothing to repair; deadlock is UNKNOWN: {nothing}"
        ))
    );
    assert_eq!(
        said(&["hang", "-q", "p.wlk", "--from", "seen.txt"]),
        expected(&format!("p.wlk: hang: UNKNOWN {nothing}"))
    );
}
