//! Reads the source files that a kernel was compiled from, if they still exist.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use warplock::report::Finding;
use warplock::report::finding::SourceText;

/// Endings of files that kernels are written in. A kernel's text may name any path, so only files with these endings
/// are read.
const ENDINGS: [&str; 10] = [
    "cu", "cuh", "py", "cpp", "cc", "cxx", "c", "h", "hpp", "inl",
];

/// The largest file that is read, in bytes, and the most files.
const LARGEST: u64 = 4 << 20;
const MOST: usize = 8;

/// Reads the sources to which lines of a finding refer. `file` is the kernel's file. `kernel` is its text, which has
/// the paths that the compiler used for its sources.
pub fn sources(finding: &Finding, file: &str, kernel: &str) -> Vec<SourceText> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let names = finding.source_names().into_iter();
    let found = names.filter_map(|name| {
        let path = Path::new(&name);
        let plain = path.file_name()?.to_str()?.to_owned();
        let places = [folder.join(&plain), folder.join(path), path.to_owned()];
        let text = places
            .into_iter()
            .chain(told(kernel, &plain))
            .find_map(|path| read(&path))?;
        Some(SourceText { file: name, text })
    });
    found.take(MOST).collect()
}

/// The quoted paths in a kernel's text that end with this file name.
fn told(kernel: &str, plain: &str) -> impl Iterator<Item = PathBuf> {
    let quoted = kernel.split('"').skip(1).step_by(2);
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in quoted.map(Path::new) {
        let same = path.file_name().and_then(|name| name.to_str()) == Some(plain);
        if same && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths.into_iter()
}

fn read(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let about = fs::metadata(path).ok()?;
    if !ENDINGS.contains(&ending) || !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
