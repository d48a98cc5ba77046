//! A failing input, with everything that is needed to print or write it.

use std::collections::BTreeSet;

use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::Instance;
use crate::semantics::step::Action;
use crate::semantics::unfold;
use crate::tensors::BlockSparse;
use crate::tensors::TensorError;
use crate::witness;
use crate::witness::Witness;

use super::ReproError;
use super::family::Origin;

/// A replayed counterexample.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The origin of its pattern; `None` if any pattern was allowed.
    pub origin: Option<Origin>,
    /// The pattern as arrays, if the protocol has exactly one open pattern and this pattern has two coordinates.
    pub tiles: Option<BlockSparse>,
    /// The input.
    pub input: Input,
    /// The instance of this input.
    pub instance: Instance,
    /// A run to the stuck state.
    pub schedule: Vec<Action>,
    /// The run as a file.
    pub witness: Witness,
    /// In which sense it is the smallest, as a sentence fragment.
    pub smallest: String,
}

impl Failure {
    /// Records a run and replays it. It is a failure only if the replay succeeds.
    ///
    /// # Errors
    /// A run that the reference semantics does not accept.
    pub(super) fn new(
        protocol: &Protocol,
        input: Input,
        schedule: Vec<Action>,
        tiles: Option<BlockSparse>,
        origin: Option<Origin>,
        smallest: String,
    ) -> Result<Failure, ReproError> {
        let replay = |error: String| ReproError::Replay(error);
        let instance = unfold::instantiate(protocol, &input).map_err(|e| replay(e.to_string()))?;
        let witness = witness::record(protocol, &input, &schedule)
            .map_err(|error| replay(error.to_string()))?;
        witness::replay(protocol, &witness).map_err(|error| replay(error.to_string()))?;
        Ok(Failure {
            origin,
            tiles,
            input,
            instance,
            schedule,
            witness,
            smallest,
        })
    }
}

/// The one pattern of a protocol that is an input and has a column and a row coordinate, if
/// there is exactly one input pattern.
pub fn open_pattern(protocol: &Protocol) -> Option<PatternId> {
    let open = protocol.patterns.iter().enumerate();
    let mut open = open.filter(|(_, pattern)| pattern.definition.is_none());
    match (open.next(), open.next()) {
        (Some((at, pattern)), None) if pattern.extents.len() == 2 => Some(PatternId(at)),
        _ => None,
    }
}

/// An input's pattern as arrays: every entry is a mask entry, in the order in which its row is visited. If loops over
/// one row visit it in different orders, the first loop counts.
///
/// # Errors
/// A pattern beyond the limits of the arrays.
pub(super) fn arrays(
    protocol: &Protocol,
    pattern: PatternId,
    input: &Input,
    instance: &Instance,
) -> Result<BlockSparse, TensorError> {
    let empty = BTreeSet::new();
    let entries = input.patterns.get(pattern.0).unwrap_or(&empty);
    let extents: Vec<i64> = unfold::pattern_data(protocol, input, &unfold::Limits::default())
        .ok()
        .and_then(|data| data.get(pattern.0).map(|data| data.extents().to_vec()))
        .unwrap_or_default();
    let [n_blocks, m_blocks] = [0, 1].map(|axis| extents.get(axis).copied().unwrap_or(0));
    let rows = (0..n_blocks).map(|n| {
        let visited = entries.range(vec![n]..vec![n + 1]);
        let ascending: Vec<i64> = visited.filter_map(|at| at.get(1).copied()).collect();
        let row = order(input, instance, pattern, n, &ascending).unwrap_or(ascending);
        let row = row.into_iter().filter_map(|m| u32::try_from(m).ok());
        (row.collect(), Vec::new())
    });
    let rows: Vec<(Vec<u32>, Vec<u32>)> = rows.collect();
    BlockSparse::from_rows(usize::try_from(m_blocks).unwrap_or(0), rows)
}

/// The order that an input gives a row: as such, or for the member that has the row's number.
fn order(
    input: &Input,
    instance: &Instance,
    pattern: PatternId,
    n: i64,
    ascending: &[i64],
) -> Option<Vec<i64>> {
    let fits = |order: &&Vec<i64>| {
        let mut sorted = (*order).clone();
        sorted.sort_unstable();
        sorted == ascending
    };
    let row = OrderKey::Row {
        pattern: pattern.0,
        row: vec![n],
    };
    let of_loop = input.orders.iter().find_map(|(key, order)| match key {
        OrderKey::Loop {
            role,
            member,
            run: 0,
            ..
        } if *member == [n] && instance.roles.len() > *role => Some(order),
        _ => None,
    });
    let found = input.orders.get(&row).filter(fits);
    found.or(of_loop.filter(fits)).cloned()
}
