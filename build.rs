//! Puts a Z3 library where the linker and the finished program find it.
//!
//! `.cargo/config.toml` tells `z3-sys` to look in `.deps/z3/z3/lib`. This script fills that
//! folder from the hash-pinned PyPI wheel of Z3 (a few seconds, no compiler needed), because
//! Debian's libz3 is too old and building Z3 takes half an hour. A packager who sets
//! `Z3_LIBRARY_PATH_OVERRIDE` to a folder of their own gets that one instead, untouched.
//!
//! The finished program looks for the library beside itself, then in `../lib` of its own folder
//! (packages have it there), then where this build has it. An optimized build also keeps a copy in
//! Cargo's home, because `cargo install` leaves a program that outlives the checkout. Packages
//! set `WARPLOCK_RELOCATABLE`, so that no path of the machine that built them is looked at.

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

/// What the wheel for one platform is called and contains.
struct Z3 {
    sha256: &'static str,
    /// The tag by which pip finds the wheel from a machine of another platform.
    platform: &'static str,
    /// The name under which the linker looks for the library.
    linked: &'static str,
    /// The name under which the finished program looks for it.
    loaded: &'static str,
}

const PLATFORMS: [(&str, &str, Z3); 3] = [
    (
        "linux",
        "x86_64",
        Z3 {
            sha256: "0549ffad554178a59480ba41b5279cfbb27053ed5a2da269ae1a48214d5db34b",
            platform: "manylinux_2_27_x86_64",
            linked: "libz3.so",
            loaded: "libz3.so.5.4",
        },
    ),
    (
        "linux",
        "aarch64",
        Z3 {
            sha256: "fffb36861d4da1f9584d0fd4a80dbf247fdfbebb04b5c31a90b460b14c86cab0",
            platform: "manylinux_2_38_aarch64",
            linked: "libz3.so",
            loaded: "libz3.so.5.4",
        },
    ),
    (
        "macos",
        "aarch64",
        Z3 {
            sha256: "a1b36f0dd038c030d88711474c93b95e863c30a22e9def53ad5965c6092c92a7",
            platform: "macosx_13_0_arm64",
            linked: "libz3.dylib",
            loaded: "libz3.dylib",
        },
    ),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=Z3_LIBRARY_PATH_OVERRIDE");
    println!("cargo:rerun-if-env-changed=Z3_NO_PKG_CONFIG");
    println!("cargo:rerun-if-env-changed=WARPLOCK_RELOCATABLE");

    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
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
    let (os, architecture) = (
        variable("CARGO_CFG_TARGET_OS"),
        variable("CARGO_CFG_TARGET_ARCH"),
    );
    let known = PLATFORMS
        .iter()
        .find(|(o, a, _)| (*o, *a) == (os.as_str(), architecture.as_str()))
        .map(|(_, _, z3)| z3);
    let linked = known.map_or("libz3.so", |z3| z3.linked);
    let library = wanted.join(linked);
    // Ours to fill: `.deps/NAME/z3/lib`, one NAME for each platform that is built for.
    let ours = wanted
        .strip_prefix(root.join(".deps"))
        .is_ok_and(|rest| rest.ends_with("z3/lib") && rest.components().count() == 3);
    if ours {
        let Some(z3) = known else {
            fail(
                &format!("no wheel of Z3 is known for {os} on {architecture}."),
                "build Z3 for it",
            );
        };
        let Some(finished) = wanted.ancestors().nth(2) else {
            fail("Z3_LIBRARY_PATH_OVERRIDE has no parent.", "unset it");
        };
        let stamp = finished.join(".stamp");
        println!("cargo:rerun-if-changed={}", library.display());
        if fs::read_to_string(&stamp).ok().as_deref() != Some(z3.sha256) || !library.exists() {
            install_wheel(z3, finished, &stamp);
        }
    } else if !library.exists() {
        fail(
            &format!(
                "Z3_LIBRARY_PATH_OVERRIDE is {}, which holds no {linked}.",
                wanted.display()
            ),
            &format!("point it at the folder that holds {linked} of Z3 5.3 or newer, or unset it"),
        );
    }

    let origin = if os == "macos" {
        "@loader_path"
    } else {
        "$ORIGIN"
    };
    let mut folders = vec![origin.to_owned(), format!("{origin}/../lib")];
    if env::var_os("WARPLOCK_RELOCATABLE").is_none() {
        if let (true, Some(z3), "release") = (ours, known, variable("PROFILE").as_str()) {
            folders.extend(keep_copy(z3, &wanted));
        }
        folders.push(wanted.display().to_string());
    }
    for folder in folders {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set."), "run cargo"))
}

/// Copies the library into Cargo's home and names the folder, one for each version of the wheel.
/// Where that cannot be written, the program still runs as long as the checkout exists.
fn keep_copy(z3: &Z3, from: &Path) -> Option<String> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(env::var_os("HOME")?).join(".cargo"),
    };
    let folder = home.join("lib/warplock").join(z3.sha256.get(..16)?);
    let copy = folder.join(z3.loaded);
    if !copy.exists() {
        fs::create_dir_all(&folder).ok()?;
        // Renamed into place, so that what exists is whole.
        let partial = folder.join(format!(".{}.{}", z3.loaded, std::process::id()));
        fs::copy(from.join(z3.loaded), &partial).ok()?;
        fs::rename(&partial, &copy).ok()?;
    }
    Some(folder.display().to_string())
}

/// Installs the wheel as the folder `finished`: into a partial folder first, so that an interrupted
/// download is never taken for a finished one, and under a lock, since cargo may run two builds.
fn install_wheel(z3: &Z3, finished: &Path, stamp: &Path) {
    let Some(deps) = finished.parent() else {
        fail("Z3_LIBRARY_PATH_OVERRIDE has no parent.", "unset it");
    };
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
    if fs::read_to_string(stamp).ok().as_deref() == Some(z3.sha256) {
        return;
    }
    let partial = finished.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    or_fail(
        "create the partial folder in .deps",
        fs::create_dir_all(&partial),
    );
    let requirements = partial.join("requirements.txt");
    or_fail(
        "write the requirements file",
        fs::write(
            &requirements,
            format!("{WHEEL} --hash=sha256:{}\n", z3.sha256),
        ),
    );
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let cross = env::var("HOST") != env::var("TARGET");
    let platform: &[&str] = if cross {
        &["--platform", z3.platform]
    } else {
        &[]
    };
    let pip = Command::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args(["--only-binary=:all:", "--require-hashes"])
        .args(platform)
        .arg("--target")
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
            } else if message.contains("No matching distribution") {
                "this system may be older than the wheel allows (Linux on aarch64: glibc 2.38)"
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
    let _ = fs::remove_dir_all(finished);
    or_fail("move Z3 into place", fs::rename(&partial, finished));
    or_fail("write the stamp", fs::write(stamp, z3.sha256));
}

fn fail(problem: &str, hint: &str) -> ! {
    eprintln!("warplock cannot find Z3: {problem}");
    eprintln!("hint: {hint},");
    eprintln!(
        "      or set Z3_LIBRARY_PATH_OVERRIDE to a folder with the library of Z3 5.3 or newer and Z3_SYS_Z3_VERSION to its version."
    );
    exit(1);
}
