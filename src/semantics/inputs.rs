//! Enumerates every input at given parameters.
//!
//! Patterns come in the order of their total number of entries, and then lexicographically by entries. For each
//! choice of entries, start values count up, with the last element fastest. For each of these, row orders are
//! enumerated.
//!
//! Which row orders are open is only known after the protocol has been unfolded, and it may depend on orders that
//! were chosen before. So row orders are enumerated as a tree: the last choice that has a next permutation takes it,
//! and all later choices are made anew.

use std::collections::BTreeSet;

use crate::protocol::Initial;
use crate::protocol::Iteration;
use crate::protocol::ObjectKind;
use crate::protocol::PatternId;
use crate::protocol::Protocol;
use crate::protocol::RowOrder;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;

use super::admit::IndexValues;
use super::error::Fault;
use super::error::RunError;
use super::eval::Env;
use super::input::Input;
use super::instance::Instance;
use super::pattern::PatternData;
use super::unfold::Choice;
use super::unfold::Limits;
use super::unfold::check_params;
use super::unfold::instantiate_with;

/// What an enumeration of inputs ranges over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The largest start value of semaphores whose start is open, at least 0.
    pub max_initial: i64,
    /// How large one instance may get.
    pub limits: Limits,
}

/// The inputs of a protocol at given parameters, each with its instance.
#[derive(Debug, Clone)]
pub struct Inputs<'p> {
    protocol: &'p Protocol,
    bounds: Bounds,
    /// All tiles of all open patterns.
    tiles: Vec<(usize, Vec<i64>)>,
    /// Positions in `tiles` of the entries of the current patterns, ascending.
    entries: Vec<usize>,
    /// All elements whose start is open.
    starts: Vec<(usize, Vec<i64>)>,
    /// The input that comes next.
    next: Option<Input>,
}

impl<'p> Inputs<'p> {
    /// The inputs at these parameters. An error means that the protocol does not admit these parameters, or that a
    /// pattern or object is too large to be listed.
    pub fn new(
        protocol: &'p Protocol,
        params: &[i64],
        bounds: &Bounds,
    ) -> Result<Inputs<'p>, RunError> {
        check_params(protocol, params)?;
        let none: &[PatternData] = &[];
        let mut env = Env::new(protocol, params, none, bounds.limits.work);
        let limit = bounds.limits.cells;
        let mut tiles = Vec::new();
        for (position, pattern) in protocol.patterns.iter().enumerate() {
            if pattern.definition.is_none() {
                let listed = env
                    .values(&pattern.extents)
                    .and_then(|extents| list(&mut tiles, position, &extents, "tiles", limit));
                listed.map_err(|fault| RunError::at(fault, pattern.span))?;
            }
        }
        let mut starts = Vec::new();
        for (position, object) in protocol.objects.iter().enumerate() {
            if object.kind == ObjectKind::Semaphore(Initial::Any) {
                let listed = env
                    .values(&object.extents)
                    .and_then(|extents| list(&mut starts, position, &extents, "cells", limit));
                listed.map_err(|fault| RunError::at(fault, object.span))?;
            }
        }
        let first = Input {
            params: params.to_vec(),
            patterns: vec![BTreeSet::new(); protocol.patterns.len()],
            ..Input::default()
        };
        Ok(Inputs {
            protocol,
            bounds: *bounds,
            tiles,
            entries: Vec::new(),
            starts,
            next: Some(first),
        })
    }

    /// About how many inputs there are. The number is exact if each loop that leaves the order of a row open visits
    /// this row once. It is infinite if it exceeds the range of floating point.
    pub fn estimate(&self) -> f64 {
        let mut total =
            (self.bounds.max_initial.max(0) as f64 + 1.0).powf(self.starts.len() as f64);
        for (position, pattern) in self.protocol.patterns.iter().enumerate() {
            let open = OpenLoops::of(self.protocol, PatternId(position));
            let orders = f64::from(u8::from(open.given)) + open.any as f64;
            let tiles = self.tiles.iter().filter(|(p, _)| *p == position);
            let (Some(last), None) = (tiles.clone().next_back(), &pattern.definition) else {
                continue;
            };
            let width = last.1.last().map_or(0, |w| *w + 1);
            let rows = tiles.count() as f64 / width as f64;
            total *= row_choices(width, orders).powf(rows);
        }
        total
    }

    fn advance(&mut self, mut input: Input, choices: &[Choice]) {
        self.next = (next_orders(&mut input, choices)
            || self.next_start(&mut input)
            || self.next_entries(&mut input))
        .then_some(input);
    }

    fn next_start(&self, input: &mut Input) -> bool {
        input.orders.clear();
        for start in self.starts.iter().rev() {
            let value = input.initial.entry(start.clone()).or_insert(0);
            if *value < self.bounds.max_initial {
                *value += 1;
                return true;
            }
            input.initial.remove(start);
        }
        false
    }

    fn next_entries(&mut self, input: &mut Input) -> bool {
        let count = self.entries.len();
        let total = self.tiles.len();
        let movable = (0..count)
            .rev()
            .find(|i| self.entries[*i] < total - count + i);
        match movable {
            Some(i) => {
                let from = self.entries[i] + 1;
                for (offset, entry) in self.entries[i..].iter_mut().enumerate() {
                    *entry = from + offset;
                }
            }
            None if count < total => self.entries = (0..=count).collect(),
            None => return false,
        }
        input.patterns.iter_mut().for_each(BTreeSet::clear);
        for entry in &self.entries {
            let (pattern, at) = &self.tiles[*entry];
            input.patterns[*pattern].insert(at.clone());
        }
        true
    }
}

impl Iterator for Inputs<'_> {
    type Item = Result<(Input, Instance), RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let input = self.next.take()?;
        match instantiate_with(self.protocol, &input, &self.bounds.limits) {
            Ok((instance, choices)) => {
                self.advance(input.clone(), &choices);
                Some(Ok((input, instance)))
            }
            // An input that cannot run ends the enumeration, because its choices are not known.
            Err(error) => Some(Err(error)),
        }
    }
}

fn list(
    into: &mut Vec<(usize, Vec<i64>)>,
    position: usize,
    extents: &[i64],
    what: &'static str,
    limit: u64,
) -> Result<(), Fault> {
    for at in IndexValues::new(extents) {
        if into.len() as u64 >= limit {
            return Err(Fault::TooLarge { what, limit });
        }
        into.push((position, at));
    }
    Ok(())
}

/// Moves on to the next orders; false when these were the last.
fn next_orders(input: &mut Input, choices: &[Choice]) -> bool {
    for choice in choices.iter().rev() {
        let order = input.orders.entry(choice.key.clone());
        let order = order.or_insert_with(|| choice.row.clone());
        if next_permutation(order) {
            return true;
        }
        input.orders.remove(&choice.key);
    }
    false
}

/// The lexicographically next arrangement of distinct values; false at the last.
fn next_permutation(values: &mut [i64]) -> bool {
    let Some(pivot) = values.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        return false;
    };
    if let Some(larger) = values.iter().rposition(|v| *v > values[pivot]) {
        values.swap(pivot, larger);
    }
    values[pivot + 1..].reverse();
    true
}

/// The number of ways to fill a row of `width` tiles and to order the filled tiles `orders` times.
fn row_choices(width: i64, orders: f64) -> f64 {
    let mut total = 0.0;
    // The number of ways to choose `filled` tiles, and `filled` factorial.
    let (mut ways, mut arrangements) = (1.0f64, 1.0f64);
    for filled in 0..=width {
        total += ways * arrangements.powf(orders);
        ways = ways * (width - filled) as f64 / (filled + 1) as f64;
        arrangements *= (filled + 1) as f64;
        if !total.is_finite() {
            return f64::INFINITY;
        }
    }
    total
}

/// The loops over one pattern whose order the protocol leaves open.
#[derive(Default)]
struct OpenLoops {
    /// Whether some loop takes the order of the input's row.
    given: bool,
    /// How many loops choose any order themselves.
    any: usize,
}

impl OpenLoops {
    fn of(protocol: &Protocol, pattern: PatternId) -> OpenLoops {
        let mut open = OpenLoops::default();
        for role in &protocol.roles {
            open.visit(&role.body, pattern);
        }
        open
    }

    fn visit(&mut self, body: &[Stmt], wanted: PatternId) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.visit(then, wanted);
                    self.visit(otherwise, wanted);
                }
                StmtKind::For { over, body, .. } => {
                    if let Iteration::Row { pattern, order, .. } = over
                        && *pattern == wanted
                    {
                        self.given |= *order == RowOrder::Given;
                        self.any += usize::from(*order == RowOrder::Any);
                    }
                    self.visit(body, wanted);
                }
                _ => {}
            }
        }
    }
}
