//! A 0/1 matrix of visited tiles: one row per `n`, one column per `m`.
//!
//! A matrix has no visiting order, and does not say which tiles are full. So each visited tile becomes a partially
//! masked one, in ascending order. The text form has one row per line. Elements are separated by whitespace, commas
//! or semicolons; `#` starts a comment.

use super::array::Array;
use super::array::Budget;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Slab;
use super::layout::shape;
use super::model::BlockSparse;
use super::model::Builder;
use super::model::ExtentSource;
use super::options::ReadOptions;

/// The pattern of a matrix `[N, M]` or `[batch, head, N, M]`.
///
/// # Errors
/// Another shape, elements other than 0 and 1, or extents above the limits.
pub(super) fn pattern(array: &Array, options: &ReadOptions) -> Result<BlockSparse, TensorError> {
    let mut problems = Problems::default();
    let rank = array.shape.len();
    if rank != 2 && rank != 4 {
        let expected = "a matrix [N, M] or [batch, head, N, M] is expected".to_owned();
        return Err(shape(array, expected).into());
    }
    let (rows, columns) = (array.shape[rank - 2], array.shape[rank - 1]);
    for (axis, extent) in [('n', rows), ('m', columns)] {
        if extent as u64 > options.block_limit() {
            problems.push(Problem::TooLarge {
                what: format!("the number of {axis} tiles"),
                found: extent.to_string(),
                limit: options.block_limit(),
            });
        }
    }
    if let Some(m_blocks) = options.m_blocks
        && m_blocks != columns
    {
        problems.push(Problem::Extent {
            axis: 'm',
            first: array.name.clone(),
            first_value: columns,
            second: "the given M".to_owned(),
            second_value: m_blocks,
        });
    }
    let slab = Slab::choose(array, 2, options, &mut problems);
    problems.into_result()?;
    let Some(slab) = slab else {
        return Err(Problem::NoArrays.into());
    };

    let mut problems = Problems::default();
    let mut builder = Builder::new();
    for n in 0..rows {
        for m in 0..columns {
            match slab.get(n * columns + m) {
                0 => {}
                1 => builder.tile(m as u32),
                value => problems.push(Problem::MatrixElement { n, m, value }),
            }
        }
        builder.end_masks();
        builder.end_row();
    }
    problems.into_result()?;
    Ok(builder.finish(columns, ExtentSource::Matrix))
}

/// Reads the text form into an array.
///
/// # Errors
/// A token that is not an integer, lines of different lengths, or too many elements.
pub(super) fn parse_text(text: &str, options: &ReadOptions) -> Result<Array, TensorError> {
    let mut budget = Budget::new(options.element_limit());
    let mut values: Vec<i64> = Vec::new();
    let mut width = None;
    let mut rows = 0;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let before = values.len();
        for token in line.split(|c: char| c.is_whitespace() || c == ',' || c == ';') {
            if token.is_empty() {
                continue;
            }
            let Ok(value) = token.parse() else {
                let shown: String = token.chars().take(20).collect();
                return Err(syntax(format!(
                    "line {}: {shown:?} is not 0 or 1",
                    number + 1
                )));
            };
            budget.take_one("matrix")?;
            values.push(value);
        }
        let found = values.len() - before;
        if found == 0 {
            continue;
        }
        rows += 1;
        if *width.get_or_insert(found) != found {
            let first = width.unwrap_or(0);
            return Err(syntax(format!(
                "line {} has {found} elements, the lines before it {first}",
                number + 1
            )));
        }
    }
    let shape = vec![rows, width.unwrap_or(0)];
    Ok(Array::from_integers("matrix", shape, values))
}

fn syntax(detail: String) -> TensorError {
    Problem::Syntax {
        format: "0/1 text matrix",
        detail,
    }
    .into()
}
