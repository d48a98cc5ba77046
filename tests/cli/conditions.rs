//! `docs/conditions.md` says what `warplock condition` prints: some of its rows, each time.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn quick_rows_are_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/conditions.md")).unwrap();
    for file in [
        "known_bugs/zero_tile_mainloop",
        "known_bugs/single_outputs_barrier",
        "known_bugs/empty_rounds_arrive_only",
        "counter/grid_barrier_reset",
        "mbarrier/jacobi_fixed_phase",
    ] {
        let path = format!("encodings/{file}.wlk");
        let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
            .args(["condition", "-q", &path])
            .current_dir(root)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let told = printed.trim_end().strip_prefix(&format!("{path}: "));
        let (formula, tried) = told.unwrap().split_once("; ").unwrap();
        assert!(tried.starts_with("at all "), "{printed}");
        let row = format!("| [`{file}`](../{path}) | {formula} | yes | ");
        assert!(page.contains(&row.replace("||", "\\|\\|")), "{printed}");
    }
}

/// At least three of four conditions are settled.
#[test]
fn most_rows_are_settled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/conditions.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| [`"));
    let rows: Vec<&str> = rows.collect();
    let settled = rows.iter().filter(|row| row.contains(" | yes | ")).count();
    assert!(rows.len() >= 20, "{}", rows.len());
    assert!(4 * settled >= 3 * rows.len(), "{settled} of {}", rows.len());
    assert!(page.ends_with(&format!("\n{settled} of {}.\n", rows.len())));
}
