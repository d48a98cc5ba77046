//! Reads a pattern from a file in any supported format.
//!
//! The first bytes decide the format if they can (npz, npy), then the file name, then the content. In every container the
//! same arrays are expected, and the same rules are checked.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::array::Budget;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::forward;
use super::json;
use super::layout::Named;
use super::matrix;
use super::model::BlockSparse;
use super::model::ExtentSource;
use super::names::Role;
use super::npy;
use super::npz;
use super::options::ReadOptions;
use super::pt;
use super::safetensors;
use super::validate::Direction;

/// The file formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// An object with the arrays, or a 0/1 matrix as a list of lists.
    Json,
    /// NumPy's archive of named arrays.
    Npz,
    /// A single NumPy array: a 0/1 matrix.
    Npy,
    /// Named tensors.
    Safetensors,
    /// What `torch.save` makes of a dictionary of tensors or of a `BlockMask`.
    Pt,
    /// A 0/1 matrix, one row per line.
    Text,
}

impl Format {
    /// Guesses the format from the first bytes, the extension of the name, then the content.
    pub fn guess(path: Option<&Path>, bytes: &[u8]) -> Option<Format> {
        if bytes.starts_with(npz::MAGIC) {
            return Some(match pt::is_archive(bytes) {
                true => Format::Pt,
                false => Format::Npz,
            });
        }
        if bytes.starts_with(npy::MAGIC) {
            return Some(Format::Npy);
        }
        let extension = path
            .and_then(Path::extension)
            .and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("json") => return Some(Format::Json),
            Some("npz") => return Some(Format::Npz),
            Some("npy") => return Some(Format::Npy),
            Some("pt" | "pth") => return Some(Format::Pt),
            Some("safetensors") => return Some(Format::Safetensors),
            Some("txt" | "csv" | "tsv") => return Some(Format::Text),
            _ => {}
        }
        if safetensors::header_length(bytes).is_some() {
            return Some(Format::Safetensors);
        }
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[') => Some(Format::Json),
            Some(b'0' | b'1' | b'#') => Some(Format::Text),
            _ => None,
        }
    }
}

/// Reads a file.
///
/// # Errors
/// A file that cannot be read or is larger than the limit, and all errors of [`read_bytes`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<BlockSparse, TensorError> {
    let unreadable = |error: std::io::Error| Problem::Unreadable {
        path: path.display().to_string(),
        detail: error.to_string(),
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let limit = options.max_bytes;
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(Problem::TooLarge {
            what: format!("the size of {}", path.display()),
            found: format!("over {limit} bytes"),
            limit,
        }
        .into());
    }
    match Format::guess(Some(path), &bytes) {
        Some(format) => read_bytes(&bytes, format, options),
        None => Err(Problem::UnknownFormat.into()),
    }
}

/// Reads a pattern from the content of a file.
///
/// Bytes that are not of this format; missing or misnamed arrays; several batches or heads without a choice; sizes
/// above the limits; and arrays that break the rules of the format. All problems that one pass can find are listed.
pub fn read_bytes(
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
) -> Result<BlockSparse, TensorError> {
    let mut problems = Problems::default();
    let named = match format {
        Format::Json => json::parse(bytes, options, &mut problems)?,
        Format::Npz => npz::parse(bytes, options, &mut problems)?,
        Format::Pt => pt::parse(bytes, options, &mut problems)?,
        Format::Safetensors => safetensors::parse(bytes, options, &mut problems)?,
        Format::Npy => {
            let mut budget = Budget::new(options.element_limit());
            let array = npy::parse("matrix", bytes, &mut budget)?;
            return matrix::pattern(&array, options);
        }
        Format::Text => {
            let text = std::str::from_utf8(bytes).map_err(|error| Problem::Syntax {
                format: "0/1 text matrix",
                detail: error.to_string(),
            })?;
            return matrix::pattern(&matrix::parse_text(text, options)?, options);
        }
    };
    assemble(&named, options, problems)
}

fn assemble(
    named: &Named,
    options: &ReadOptions,
    mut problems: Problems,
) -> Result<BlockSparse, TensorError> {
    if let Some(array) = named.get(Role::Matrix) {
        if named.has_lists() {
            problems.push(Problem::Conflict {
                first: array.name.clone(),
                second: "the lists of tiles".to_owned(),
            });
        }
        let declared = row_tiles(named, options, None, &mut problems);
        let columns = array
            .shape
            .len()
            .checked_sub(2)
            .map(|rows| array.shape[rows]);
        column_tiles(named, columns, &mut problems);
        problems.into_result()?;
        let options = ReadOptions {
            m_blocks: declared.map(|(extent, _)| extent),
            ..options.clone()
        };
        return matrix::pattern(array, &options);
    }
    let mut direction = |is_forward, outer, inner| Direction {
        mask: named.list(is_forward, false, options, &mut problems),
        full: named.list(is_forward, true, options, &mut problems),
        outer,
        inner,
    };
    let backward = direction(false, 'n', 'm');
    let ahead = direction(true, 'm', 'n');
    if problems.is_empty() && backward.mask.is_none() && backward.full.is_none() {
        if let Some(columns) = forward::width(&ahead) {
            return transposed(named, options, &ahead, columns, problems);
        }
        let only_forward = ahead.mask.is_some() || ahead.full.is_some();
        problems.push(match only_forward {
            true => Problem::OnlyForward,
            false => Problem::NoArrays,
        });
    }
    let columns = backward.rows();
    column_tiles(named, columns, &mut problems);
    let forward_rows = ahead.rows();
    let m_blocks = row_tiles(named, options, forward_rows, &mut problems);

    let tiles = backward.check(m_blocks, options, &mut problems);
    let n_blocks = columns.map(|columns| (columns, ExtentSource::Forward));
    let transposed = ahead.check(n_blocks, options, &mut problems);
    if let (Some(tiles), Some(transposed)) = (&tiles, &transposed) {
        forward::compare(tiles, transposed, &mut problems);
    }
    problems.into_result()?;
    tiles.ok_or_else(|| Problem::NoArrays.into())
}

/// The pattern of a `BlockMask` without its arrays per `n`.
fn transposed(
    named: &Named,
    options: &ReadOptions,
    ahead: &Direction<'_>,
    columns: usize,
    mut problems: Problems,
) -> Result<BlockSparse, TensorError> {
    column_tiles(named, Some(columns), &mut problems);
    row_tiles(named, options, ahead.rows(), &mut problems);
    let known = Some((columns, ExtentSource::Forward));
    let forward = ahead.check(known, options, &mut problems);
    problems.into_result()?;
    let tiles = forward.map(|forward| forward::transposed(&forward));
    tiles.ok_or_else(|| Problem::NoArrays.into())
}

/// The value of a scalar that gives a number of tiles.
fn extent(named: &Named, role: Role, problems: &mut Problems) -> Option<(String, usize)> {
    let array = named.get(role)?;
    if array.len() != 1 {
        problems.push(Problem::Shape {
            array: array.name.clone(),
            shape: array.shape_text(),
            expected: "a single number is expected".to_owned(),
        });
        return None;
    }
    let value = array.get(0);
    match usize::try_from(value) {
        Ok(extent) => Some((array.name.clone(), extent)),
        Err(_) => {
            problems.push(Problem::NegativeExtent {
                name: array.name.clone(),
                value,
            });
            None
        }
    }
}

fn column_tiles(named: &Named, columns: Option<usize>, problems: &mut Problems) {
    let declared = extent(named, Role::ColumnTiles, problems);
    if let (Some((first, first_value)), Some(second_value)) = (declared, columns)
        && first_value != second_value
    {
        problems.push(Problem::Extent {
            axis: 'n',
            first,
            first_value,
            second: "the number of rows".to_owned(),
            second_value,
        });
    }
}

/// M, from the first source that has it; others must agree.
fn row_tiles(
    named: &Named,
    options: &ReadOptions,
    forward_rows: Option<usize>,
    problems: &mut Problems,
) -> Option<(usize, ExtentSource)> {
    let declared = extent(named, Role::RowTiles, problems)
        .map(|(name, extent)| (name, extent, ExtentSource::File));
    let option = ("the option".to_owned(), ExtentSource::Caller);
    let counts = (
        "the length of the forward counts".to_owned(),
        ExtentSource::Forward,
    );
    let others = [(options.m_blocks, option), (forward_rows, counts)];
    let others = others
        .into_iter()
        .filter_map(|(extent, (name, source))| extent.map(|extent| (name, extent, source)));
    let mut sources = declared.into_iter().chain(others);
    let (first, first_value, source) = sources.next()?;
    for (second, second_value, _) in sources {
        if second_value != first_value {
            problems.push(Problem::Extent {
                axis: 'm',
                first: first.clone(),
                first_value,
                second,
                second_value,
            });
        }
    }
    Some((first_value, source))
}
