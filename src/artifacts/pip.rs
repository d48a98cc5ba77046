//! The command that installs a Python package, for hints in messages.

use std::path::Path;

use crate::files::starting;

/// A command that installs packages for a Python. `pip` is the command that runs the pip of this Python.
///
/// pip refuses to install into a Python that a Linux distribution manages, and its override is not safe. So the command
/// creates a virtual environment first, as the message of pip proposes.
pub fn install(python: &Path, pip: &str, packages: &str) -> String {
    match is_managed(python) {
        true => format!(
            "{} -m venv .venv && . .venv/bin/activate && pip install {packages}",
            python.display()
        ),
        false => format!("{pip} install {packages}"),
    }
}

/// Whether the packages of this Python are externally managed (PEP 668). The Python of a virtual environment has its own
/// library folder, without the marker file.
fn is_managed(python: &Path) -> bool {
    let Some(prefix) = python.parent().and_then(Path::parent) else {
        return false;
    };
    starting(&prefix.join("lib"), "python3")
        .iter()
        .any(|library| library.join("EXTERNALLY-MANAGED").exists())
}
