//! Puts a Z3 library where the linker and the finished program find it.
//!
//! `.cargo/config.toml` tells `z3-sys` to look in `.deps/z3/z3/lib`. This script fills that
//! folder from the hash-pinned PyPI wheel of Z3 (a few seconds, no compiler needed), because
//! Debian's libz3 is too old and building Z3 takes half an hour. A packager who sets
//! `Z3_LIBRARY_PATH_OVERRIDE` to a folder of their own gets that one instead, untouched.

// A build script has no other way to explain itself.
#![allow(clippy::print_stderr)]

use std::env;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::exit;

const WHEEL: &str = "z3-solver==5.4.0.0";
const WHEEL_SHA256: &str = "0549ffad554178a59480ba41b5279cfbb27053ed5a2da269ae1a48214d5db34b";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=Z3_LIBRARY_PATH_OVERRIDE");
    println!("cargo:rerun-if-env-changed=Z3_NO_PKG_CONFIG");

    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let (Ok(wanted), Ok(_)) = (
        env::var("Z3_LIBRARY_PATH_OVERRIDE"),
        env::var("Z3_NO_PKG_CONFIG"),
    ) else {
        fail(
            "the settings in .cargo/config.toml are not in force, so the wrong Z3 could be linked.",
            &format!(
                "run cargo from inside {} (cargo ignores that file with --manifest-path from elsewhere)",
                root.display()
            ),
        );
    };
    let wanted = PathBuf::from(wanted);
    let library = wanted.join("libz3.so");
    if wanted == root.join(".deps/z3/z3/lib") {
        let stamp = root.join(".deps/z3/.stamp");
        println!("cargo:rerun-if-changed={}", library.display());
        if fs::read_to_string(&stamp).ok().as_deref() != Some(WHEEL_SHA256) || !library.exists() {
            install_wheel(&root.join(".deps"), &stamp);
        }
    } else if !library.exists() {
        fail(
            &format!(
                "Z3_LIBRARY_PATH_OVERRIDE is {}, which holds no libz3.so.",
                wanted.display()
            ),
            "point it at the folder that holds libz3.so of Z3 5.3 or newer, or unset it",
        );
    }
    // Found where it was built; `$ORIGIN` lets a packager ship the library beside the program.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", wanted.display());
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN");
}

/// Installs the wheel under `deps/z3`: into a partial folder first, so that an interrupted
/// download is never taken for a finished one, and under a lock, since cargo may run two builds.
fn install_wheel(deps: &Path, stamp: &Path) {
    let or_fail = |what: &str, result: std::io::Result<()>| {
        if let Err(error) = result {
            fail(
                &format!("could not {what}: {error}."),
                "check the disk and the permissions of .deps",
            );
        }
    };
    or_fail("create .deps", fs::create_dir_all(deps));
    let lock = match File::create(deps.join(".lock")) {
        Ok(file) => file,
        Err(error) => fail(
            &format!("could not create .deps/.lock: {error}."),
            "check permissions",
        ),
    };
    or_fail("lock .deps", lock.lock());
    if fs::read_to_string(stamp).ok().as_deref() == Some(WHEEL_SHA256) {
        return;
    }
    let partial = deps.join("z3.partial");
    let finished = deps.join("z3");
    let _ = fs::remove_dir_all(&partial);
    or_fail("create .deps/z3.partial", fs::create_dir_all(&partial));
    let requirements = partial.join("requirements.txt");
    or_fail(
        "write the requirements file",
        fs::write(
            &requirements,
            format!("{WHEEL} --hash=sha256:{WHEEL_SHA256}\n"),
        ),
    );
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let pip = Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args(["--only-binary=:all:", "--require-hashes", "--target"])
        .arg(&partial)
        .arg("--requirement")
        .arg(&requirements)
        .output();
    match pip {
        Err(error) => fail(
            &format!("could not run {python}: {error}."),
            "install Python 3 with pip (Debian: apt-get install python3-pip), or set PYTHON",
        ),
        Ok(output) if !output.status.success() => {
            let message = String::from_utf8_lossy(&output.stderr);
            let hint = if message.contains("No module named pip") {
                "install pip (Debian: apt-get install python3-pip)"
            } else {
                "check the network and the package index"
            };
            fail(
                &format!("pip could not install {WHEEL}:\n{}", message.trim_end()),
                hint,
            );
        }
        Ok(_) => {}
    }
    let _ = fs::remove_dir_all(&finished);
    or_fail("move Z3 into place", fs::rename(&partial, &finished));
    or_fail("write the stamp", fs::write(stamp, WHEEL_SHA256));
}

fn fail(problem: &str, hint: &str) -> ! {
    eprintln!("warplock cannot find Z3: {problem}");
    eprintln!("hint: {hint},");
    eprintln!(
        "      or set Z3_LIBRARY_PATH_OVERRIDE to a folder with libz3.so of Z3 5.3 or newer and Z3_SYS_Z3_VERSION to its version."
    );
    exit(1);
}
