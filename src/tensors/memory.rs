//! Lists that a program built in memory. They are checked by the same rules as lists in a file.

use super::array::Array;
use super::error::Problem;
use super::error::Problems;
use super::error::TensorError;
use super::layout::Named;
use super::model::BlockSparse;
use super::model::ExtentSource;
use super::names::Part;
use super::names::Role;
use super::options::ReadOptions;
use super::validate::Direction;

/// Checks lists that were built in memory, under the default limits.
///
/// # Errors
/// As for a file with these lists.
pub(super) fn check<I>(m_blocks: usize, rows: I) -> Result<BlockSparse, TensorError>
where
    I: IntoIterator<Item = (Vec<u32>, Vec<u32>)>,
{
    let mut counts = [Vec::new(), Vec::new()];
    let mut indices = [Vec::new(), Vec::new()];
    let options = ReadOptions::default();
    for (mask, full) in rows {
        for (side, list) in [mask, full].into_iter().enumerate() {
            counts[side].push(list.len() as i64);
            indices[side].extend(list.into_iter().map(i64::from));
        }
        let found = indices[0].len() + indices[1].len();
        if found as u64 > options.element_limit() {
            return Err(Problem::TooLarge {
                what: "the number of visited tiles".to_owned(),
                found: format!("at least {found}"),
                limit: options.element_limit(),
            }
            .into());
        }
    }
    let mut problems = Problems::default();
    let mut named = Named::default();
    let sides = [(false, "mask"), (true, "full")];
    for ((full, side), (count, index)) in sides.into_iter().zip(counts.into_iter().zip(indices)) {
        for (part, suffix, values) in [(Part::Count, "cnt", count), (Part::Index, "idx", index)] {
            let name = format!("{side}_block_{suffix}");
            let array = Array::from_integers(&name, vec![values.len()], values);
            let role = Role::List {
                forward: false,
                full,
                part,
            };
            named.insert(role, array, &mut problems);
        }
    }
    let direction = Direction {
        mask: named.list(false, false, &options, &mut problems),
        full: named.list(false, true, &options, &mut problems),
        outer: 'n',
        inner: 'm',
    };
    let inner = Some((m_blocks, ExtentSource::Caller));
    let built = direction.check(inner, &options, &mut problems);
    problems.into_result()?;
    built.ok_or_else(|| Problem::NoArrays.into())
}
