//! Writes a pattern as the arrays that a kernel gets: JSON, npz or safetensors.
//!
//! All three have the six int32 arrays and the scalar `m_blocks`, and read back to the same pattern. The bytes depend
//! only on the pattern, so that witnesses can be compared.

use std::io;
use std::io::Cursor;
use std::io::Write;

use ::safetensors::tensor::Dtype;
use ::safetensors::tensor::TensorView;
use zip::CompressionMethod;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::model::BlockSparse;
use super::npy;
use super::npz;

/// The six arrays as a kernel is given them; see `docs/tensors.md`.
pub(super) struct Arrays {
    /// Name and values, in the order of the format.
    pub named: [(&'static str, Vec<i32>); 6],
}

impl Arrays {
    /// Takes a pattern apart. Everything fits int32: the limits of a pattern are below 2^31.
    pub fn new(tiles: &BlockSparse) -> Self {
        let [mask_count, mask_offset, mask_index] = lists(tiles, BlockSparse::mask_row);
        let [full_count, full_offset, full_index] = lists(tiles, BlockSparse::full_row);
        Arrays {
            named: [
                ("mask_block_cnt", mask_count),
                ("mask_block_offset", mask_offset),
                ("mask_block_idx", mask_index),
                ("full_block_cnt", full_count),
                ("full_block_offset", full_offset),
                ("full_block_idx", full_index),
            ],
        }
    }
}

fn lists(tiles: &BlockSparse, row: fn(&BlockSparse, usize) -> &[u32]) -> [Vec<i32>; 3] {
    let mut count = Vec::with_capacity(tiles.n_blocks());
    let mut offset = vec![0];
    let mut index = Vec::new();
    for n in 0..tiles.n_blocks() {
        let entries = row(tiles, n);
        count.push(entries.len() as i32);
        index.extend(entries.iter().map(|&m| m as i32));
        offset.push(index.len() as i32);
    }
    [count, offset, index]
}

/// The JSON object: `origin` if given (a remark for people, ignored when read), `m_blocks`, and
/// one line per array.
pub fn to_json(tiles: &BlockSparse, origin: Option<&str>) -> String {
    let mut text = String::from("{\n");
    if let Some(origin) = origin {
        text += &format!("  \"origin\": {},\n", serde_json::Value::from(origin));
    }
    text += &format!("  \"m_blocks\": {}", tiles.m_blocks());
    for (name, values) in Arrays::new(tiles).named {
        text += &format!(",\n  \"{name}\": {}", bracketed(&values));
    }
    text += "\n}\n";
    text
}

/// A list as JSON and Python both write it.
pub(super) fn bracketed<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    format!("[{}]", values.join(", "))
}

/// The archive that `numpy.load` reads: int32 arrays and an int32 scalar `m_blocks`.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn to_npz(tiles: &BlockSparse) -> io::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // The library stamps the current time on every entry unless it is told another one.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    let mut add = |name: &str, shape: &[usize], values: &[i32]| -> io::Result<()> {
        archive.start_file(format!("{name}{}", npz::EXTENSION), options)?;
        archive.write_all(&npy::header("<i4", shape))?;
        values
            .iter()
            .try_for_each(|value| archive.write_all(&value.to_le_bytes()))
    };
    add("m_blocks", &[], &[tiles.m_blocks() as i32])?;
    for (name, values) in Arrays::new(tiles).named {
        add(name, &[values.len()], &values)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// The safetensors form: I32 tensors and an I32 scalar `m_blocks`.
///
/// # Errors
/// None in practice: shapes and lengths agree.
pub fn to_safetensors(tiles: &BlockSparse) -> io::Result<Vec<u8>> {
    let scalar = ("m_blocks", vec![tiles.m_blocks() as i32]);
    let arrays = Arrays::new(tiles).named.into_iter().chain([scalar]);
    let raw: Vec<(&str, Vec<usize>, Vec<u8>)> = arrays
        .map(|(name, values)| {
            let shape = match name {
                "m_blocks" => vec![],
                _ => vec![values.len()],
            };
            (
                name,
                shape,
                values.into_iter().flat_map(i32::to_le_bytes).collect(),
            )
        })
        .collect();
    let views: Result<Vec<(&str, TensorView<'_>)>, _> = raw
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(Dtype::I32, shape.clone(), bytes).map(|view| (*name, view))
        })
        .collect();
    let views = views.map_err(io::Error::other)?;
    ::safetensors::serialize(views, None).map_err(io::Error::other)
}
