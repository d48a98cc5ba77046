//! Edits after which a refuted protocol is proved.

use crate::support::program::Folder;

/// A file of the library in a folder of its own.
fn repaired(file: &str, options: &[&str]) -> (Folder, String) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(root.join("encodings").join(file)).unwrap();
    let folder = Folder::new();
    folder.file("p.wlk", text);
    let shown = folder.run(&[&["repair", "p.wlk"], options].concat());
    (folder, shown)
}

#[test]
fn the_count_of_a_named_barrier_changes_at_every_use() {
    let (_folder, shown) = repaired("known_bugs/named_count.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_wait_that_never_passes_may_be_guarded() {
    let (_folder, shown) = repaired("known_bugs/zero_tile_mainloop.wlk", &["--most", "2"]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_barrier_for_each_stage() {
    let (_folder, shown) = repaired("known_bugs/single_outputs_barrier.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn barriers_that_nobody_initialises() {
    let (_folder, shown) = repaired("checklist/init_in_role.wlk", &["-q"]);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn the_rank_is_found_for_the_published_lock_value() {
    let options = ["--property", "deadlock", "--most", "1"];
    let (_folder, shown) = repaired("block_sparse/lock_n_block.wlk", &options);
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn what_is_written_checks_and_certifies() {
    let options = ["-q", "-o", "fixed.wlk", "--certificate", "c"];
    let (folder, shown) = repaired("known_bugs/empty_rounds_arrive_only.wlk", &options);
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let checked = folder.run(&["check", "-q", "--property", "all", "fixed.wlk"]);
    assert!(checked.starts_with("exit 0\n"), "{checked}");
    let written = std::fs::read_dir(folder.path().join("c")).unwrap();
    let written: Vec<_> = written.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(written.len(), 3, "{written:?}");
    for certificate in written {
        let certified = folder.run(&["certify", certificate.to_str().unwrap()]);
        assert!(certified.starts_with("exit 0\n"), "{certified}");
    }
}

#[test]
fn nothing_to_repair() {
    let (_folder, shown) = repaired("known_bugs/named_count_fixed.wlk", &[]);
    insta::assert_snapshot!(shown, @"");
}

/// Nobody waits for anybody once the wait is gone, so nothing hangs; that is no repair.
const NEVER_ANSWERED: &str = "protocol never

param N in 1..

mbarrier m { arrivals: N + 1 }
semaphore ready = 0

role left[n in 0..N] {
    arrive m
    wait m 0
}

role right {
    wait ready >= 2
    ready += 1
}
";

#[test]
fn doing_nothing_is_no_repair() {
    let folder = Folder::new();
    folder.file("never.wlk", NEVER_ANSWERED);
    insta::assert_snapshot!(folder.run(&["repair", "never.wlk"]), @"");
}

#[test]
fn a_property_that_does_not_apply_is_refused() {
    let (_folder, shown) = repaired("known_bugs/named_count.wlk", &["--property", "race"]);
    insta::assert_snapshot!(shown, @"");
}
