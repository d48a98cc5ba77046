//! NumPy's `.npz`: a zip archive with one `.npy` file per array.
//!
//! Only arrays with a known name are unpacked, and not beyond their declared shape. The shape is checked against the
//! limits first. So the size that an archive claims does not matter.

use std::io::Cursor;

use zip::ZipArchive;

use super::array::Budget;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Named;
use super::names;
use super::npy;
use super::options::ReadOptions;

/// The bytes an archive starts with.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

/// How the name of an array ends in the archive.
pub(super) const EXTENSION: &str = ".npy";

/// What an entry of an archive's index begins with.
const INDEXED: &[u8] = b"PK\x01\x02";

/// Opens a zip archive, if no two entries have the same name.
///
/// # Errors
/// What is wrong with it, as a lowercase fragment.
pub(super) fn open(bytes: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, String> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    // Of several entries with one name, the library keeps only the last.
    match archive.len() == indexed(bytes, archive.central_directory_start()) {
        true => Ok(archive),
        false => Err("two entries have the same name".to_owned()),
    }
}

/// The number of entries in the index of an archive, which begins at `start`.
fn indexed(bytes: &[u8], start: u64) -> usize {
    let mut rest = usize::try_from(start)
        .ok()
        .and_then(|start| bytes.get(start..))
        .unwrap_or_default();
    let mut found = 0;
    while rest.starts_with(INDEXED) {
        let length = |at: usize| match rest.get(at..at + 2) {
            Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
            _ => 0,
        };
        // The name, further fields, and a remark follow the fixed part.
        let whole = 46 + length(28) + length(30) + length(32);
        found += 1;
        rest = rest.get(whole..).unwrap_or_default();
    }
    found
}

/// Reads the known arrays of an archive; a single array of another name is a matrix.
///
/// # Errors
/// A malformed archive or array, or a shape above the limits.
pub(super) fn parse(
    bytes: &[u8],
    options: &ReadOptions,
    problems: &mut Problems,
) -> Result<Named, TensorError> {
    let syntax = |detail: String| Problem::Syntax {
        format: "npz",
        detail,
    };
    let mut archive = open(bytes).map_err(syntax)?;
    let entries = archive.file_names_raw();
    let names = entries.filter_map(|name| std::str::from_utf8(name).ok()?.strip_suffix(EXTENSION));
    let mut arrays: Vec<String> = names.map(str::to_owned).collect();
    arrays.sort();
    let mut budget = Budget::new(options.element_limit());
    let mut named = Named::default();
    let single = arrays.len() == 1;
    for name in arrays {
        let Some(role) = names::wanted(&name, single, problems) else {
            continue;
        };
        let entry = archive
            .by_name(&format!("{name}{EXTENSION}"))
            .map_err(|error| syntax(format!("{name}: {error}")))?;
        named.insert(role, npy::parse(&name, entry, &mut budget)?, problems);
    }
    Ok(named)
}
