//! NumPy's `.npz`: a zip archive with one `.npy` file per array.
//!
//! Only arrays with a known name are unpacked, and no further than their declared shape, which
//! is charged against the limits first: what an archive claims to unpack to does not matter.

use std::io::Cursor;

use npyz::npz::NpzArchive;
use npyz::npz::file_name_from_array_name;

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

/// Opens a zip archive in which every name is that of one entry.
///
/// # Errors
/// What is wrong with it, as a lowercase fragment.
pub(super) fn open(bytes: &[u8]) -> Result<NpzArchive<Cursor<&[u8]>>, String> {
    let mut archive = NpzArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let zip = archive.zip_archive();
    // The archive's index keeps the last of several entries with one name.
    match zip.len() == zip.file_names().count() {
        true => Ok(archive),
        false => Err("two entries have the same name".to_owned()),
    }
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
    let mut arrays: Vec<String> = archive.array_names().map(str::to_owned).collect();
    arrays.sort();
    let zip = archive.zip_archive();
    let mut budget = Budget::new(options.element_limit());
    let mut named = Named::default();
    let single = arrays.len() == 1;
    for name in arrays {
        let Some(role) = names::wanted(&name, single, problems) else {
            continue;
        };
        let entry = zip
            .by_name(&file_name_from_array_name(&name))
            .map_err(|error| syntax(format!("{name}: {error}")))?;
        named.insert(role, npy::parse(&name, entry, &mut budget)?, problems);
    }
    Ok(named)
}
