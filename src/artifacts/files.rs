//! Looking into folders whose names are known in part.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The entries of a folder whose names begin like this.
pub fn starting(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.filter_map(Result::ok);
    names
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect()
}
