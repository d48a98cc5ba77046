//! How a Python package is installed, as a person would type it.

use std::path::Path;

use crate::files::starting;

/// A command that installs packages for a Python. `pip` is how this Python calls its own.
///
/// Distributions keep their Python to themselves: pip refuses to install there, and makes no exception that is safe.
/// An environment of one's own is the way that their message proposes.
pub fn install(python: &Path, pip: &str, packages: &str) -> String {
    match is_managed(python) {
        true => format!(
            "{} -m venv .venv && . .venv/bin/activate && pip install {packages}",
            python.display()
        ),
        false => format!("{pip} install {packages}"),
    }
}

/// Whether a distribution keeps this Python's packages to itself (PEP 668). A Python of a virtual environment has a
/// library of its own, without the file that says so.
fn is_managed(python: &Path) -> bool {
    let Some(prefix) = python.parent().and_then(Path::parent) else {
        return false;
    };
    starting(&prefix.join("lib"), "python3")
        .iter()
        .any(|library| library.join("EXTERNALLY-MANAGED").exists())
}
