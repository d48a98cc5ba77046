//! Finds files by the beginning of their names.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The entries of a folder whose names begin with a prefix. None if the folder cannot be read.
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
