//! Checks whether an input is valid for the protocol: domains, assumptions, extents and sizes.

use crate::protocol::Domain;
use crate::protocol::Protocol;

use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::pattern::PatternData;

/// The most tiles of a pattern that the protocol defines. Each tile is evaluated, and those that are visited are
/// stored.
const MAX_TILES: u64 = 1 << 26;

/// How large an instance may get before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations of all members together.
    pub ops: u64,
    /// Members of all roles together.
    pub members: u64,
    /// Cells of all objects together.
    pub cells: u64,
    /// Expression nodes and statements that are evaluated.
    pub work: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            ops: 50_000_000,
            members: 10_000_000,
            cells: 10_000_000,
            work: 4_000_000_000,
        }
    }
}

/// Checks parameter values against the declared domains and the assumptions.
pub fn check_params(protocol: &Protocol, params: &[i64]) -> Result<(), RunError> {
    if params.len() != protocol.params.len() {
        return Err(RunError::from(Fault::ParamCount {
            expected: protocol.params.len(),
            found: params.len(),
        }));
    }
    for (param, value) in protocol.params.iter().zip(params) {
        let inside = match &param.domain {
            Domain::AtLeast(lo) => value >= lo,
            Domain::Range(lo, hi) => (lo..=hi).contains(&value),
            Domain::Set(values) => values.contains(value),
        };
        if !inside {
            let fault = Fault::OutsideDomain {
                name: param.name.clone(),
                value: *value,
            };
            return Err(RunError::at(fault, param.span));
        }
    }
    let none: &[PatternData] = &[];
    let mut env = Env::new(protocol, params, none, Limits::default().work);
    for assumption in &protocol.assumptions {
        let holds = env.truth(&assumption.condition);
        let fault = match holds {
            Ok(true) => continue,
            Ok(false) => Fault::AssumptionViolated(assumption.text.clone()),
            Err(fault) => fault,
        };
        return Err(RunError {
            fault,
            span: assumption.span,
        });
    }
    Ok(())
}

/// The entries of every pattern. The input gives them, or they are computed if the protocol defines the pattern.
pub fn pattern_data(
    protocol: &Protocol,
    input: &Input,
    limits: &Limits,
) -> Result<Vec<PatternData>, RunError> {
    if input.patterns.len() != protocol.patterns.len() {
        return Err(RunError::from(Fault::PatternCount {
            expected: protocol.patterns.len(),
            found: input.patterns.len(),
        }));
    }
    let mut done: Vec<PatternData> = Vec::new();
    for (pattern, given) in protocol.patterns.iter().zip(&input.patterns) {
        let data = (|| {
            let mut env = Env::new(protocol, &input.params, &done, limits.work);
            let extents = env.values(&pattern.extents)?;
            let Some((names, condition)) = &pattern.definition else {
                let entries = given.iter().map(Vec::as_slice);
                return PatternData::new(&pattern.name, &extents, entries);
            };
            if !given.is_empty() {
                return Err(Fault::EntriesOfDefined(pattern.name.clone()));
            }
            if names.len() != extents.len() {
                return Err(Fault::Arity {
                    name: pattern.name.clone(),
                    expected: extents.len(),
                    found: names.len(),
                });
            }
            size(&extents, MAX_TILES, 0, "tiles")?;
            PatternData::defined(&pattern.name, &extents, |at| {
                for (name, value) in names.iter().zip(at) {
                    env.set(*name, *value)?;
                }
                env.truth(condition)
            })
        })();
        done.push(data.map_err(|fault| RunError::at(fault, pattern.span))?);
    }
    Ok(done)
}

/// All index combinations below some extents, lexicographic.
#[derive(Debug, Clone)]
pub(super) struct IndexValues {
    extents: Vec<i64>,
    next: Option<Vec<i64>>,
}

impl IndexValues {
    /// The combinations. There is none if an extent is 0 or less, and one if there is no extent.
    pub(super) fn new(extents: &[i64]) -> IndexValues {
        IndexValues {
            next: extents
                .iter()
                .all(|e| *e > 0)
                .then(|| vec![0; extents.len()]),
            extents: extents.to_vec(),
        }
    }
}

impl Iterator for IndexValues {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for (value, extent) in following.iter_mut().zip(&self.extents).rev() {
            *value += 1;
            if *value < *extent {
                self.next = Some(following);
                break;
            }
            *value = 0;
        }
        Some(current)
    }
}

/// The number of index combinations. An error if this number and `used` together exceed the limit.
pub(super) fn size(
    extents: &[i64],
    limit: u64,
    used: u64,
    what: &'static str,
) -> Result<usize, Fault> {
    let product = if extents.iter().any(|e| *e <= 0) {
        Some(0)
    } else {
        extents
            .iter()
            .try_fold(1u64, |p, e| p.checked_mul(*e as u64))
    };
    product
        .filter(|p| p.saturating_add(used) <= limit)
        .and_then(|p| usize::try_from(p).ok())
        .ok_or(Fault::TooLarge { what, limit })
}
