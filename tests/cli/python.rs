//! The Python module, tested by its own tests with the program that cargo built.

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn the_python_module_passes_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Further modules, as pytest, whose plugin is tested where it is installed.
    let mut folders = vec![root.join("python")];
    folders.extend(env::split_paths(
        &env::var_os("PYTHONPATH").unwrap_or_default(),
    ));
    let output = Command::new("python3")
        .args([
            "-B",
            "-W",
            "error",
            "-m",
            "unittest",
            "discover",
            "--start-directory",
        ])
        .arg(root.join("tests/python"))
        .env("PYTHONPATH", env::join_paths(folders).unwrap())
        .env("WARPLOCK_PROGRAM", env!("CARGO_BIN_EXE_warplock"))
        .current_dir(root)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    // No tests found is a success to older versions of Python.
    assert!(
        words.contains("\nRan ") && !words.contains("\nRan 0 "),
        "{words}"
    );
}
