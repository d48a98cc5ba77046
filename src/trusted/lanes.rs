//! Lanes: the elements of an object, by how members go through them.
//!
//! Each index of an object is of one kind. Either it is a *number* in every use of the object. Or it is *own*: in every
//! use a number, or an index of the role itself, so that each member has one value there. Or it *moves*, and there is one
//! such index at most. A *lane* is all elements whose numbers are given. Its *groups* are told apart by the own indices: a
//! member does something to one group only, in which every statement of its class has the same own indices. The elements
//! of a group differ in the index that moves, or there is one. Lanes have no element in common, and neither have groups.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::system::Range;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// Elements that are gone through, group by group.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The object, by position.
    pub object: usize,
    /// Its indices.
    pub at: Vec<At>,
    /// The classes that arrive, or take of a pool, ascending.
    pub arriving: Vec<usize>,
    /// The own indices of the classes that do something there: numbers, or indices of the role.
    pub own: BTreeMap<usize, Vec<Expr>>,
}

/// An index of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// A number.
    Number(i64),
    /// What each member has for itself.
    Own,
    /// What members go through.
    Moves,
}

impl Lane {
    /// The index that moves.
    pub fn moving(&self) -> Option<usize> {
        self.at.iter().position(|at| *at == At::Moves)
    }

    /// The own indices, by position.
    pub fn owns(&self) -> impl Iterator<Item = usize> {
        let all = self.at.iter().enumerate();
        all.filter(|(_, at)| **at == At::Own).map(|(at, _)| at)
    }
}

/// Which lanes there are, by object and indices, with their numbers.
pub struct Builder<'p> {
    /// The protocol.
    pub protocol: &'p Protocol,
    /// Per object and index: of which kind it is. The number is that of no use in particular.
    kinds: Vec<Vec<At>>,
    lanes: BTreeMap<(usize, Vec<At>), (usize, Lane)>,
}

impl<'p> Builder<'p> {
    /// No use has been seen.
    pub fn new(protocol: &'p Protocol) -> Builder<'p> {
        let objects = protocol.objects.iter();
        Builder {
            protocol,
            kinds: objects
                .map(|o| vec![At::Number(0); o.extents.len()])
                .collect(),
            lanes: BTreeMap::new(),
        }
    }

    /// The lanes, by number.
    pub fn lanes(self) -> Vec<Lane> {
        let mut lanes: Vec<(usize, Lane)> = self.lanes.into_values().collect();
        lanes.sort_by_key(|(number, _)| *number);
        lanes.into_iter().map(|(_, lane)| lane).collect()
    }

    /// Notes how a class uses indices.
    pub fn note(&mut self, body: &[Stmt], ranges: &[Range]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.note(then, ranges);
                    self.note(otherwise, ranges);
                }
                StmtKind::For { body, .. } => self.note(body, ranges),
                kind => {
                    if let Some(cell) = kind.cell() {
                        let kinds = &mut self.kinds[cell.object.0];
                        for (kind, index) in kinds.iter_mut().zip(&cell.index) {
                            // Each kind is more general than those before it.
                            *kind = (*kind).max(used(index, ranges));
                        }
                    }
                }
            }
        }
    }

    /// The lane of an element that a class does something to.
    ///
    /// # Errors
    ///
    /// More than one index moves, or the class does something to several groups.
    pub fn lane(
        &mut self,
        cell: &Cell,
        (class, ranges): (usize, &[Range]),
        arrives: bool,
        span: Span,
    ) -> Result<usize, Unsupported> {
        let kinds = &self.kinds[cell.object.0];
        if kinds.iter().filter(|kind| **kind == At::Moves).count() > 1 {
            return Err(Unsupported::at(span, "two indices that are not numbers"));
        }
        let known = known(ranges);
        let mut at = Vec::new();
        let mut own = Vec::new();
        for (index, kind) in cell.index.iter().zip(kinds) {
            let number = number(index, &known);
            at.push(match (kind, number) {
                (At::Number(_), Some(number)) => At::Number(number),
                (At::Own, Some(number)) => {
                    own.push(Expr::Int(number));
                    At::Own
                }
                (At::Own, None) => {
                    own.push(index.clone());
                    At::Own
                }
                (At::Moves, _) | (At::Number(_), None) => At::Moves,
            });
        }
        let next = self.lanes.len();
        let object = cell.object.0;
        let lane = Lane {
            object,
            at: at.clone(),
            arriving: Vec::new(),
            own: BTreeMap::new(),
        };
        let (number, lane) = self.lanes.entry((object, at)).or_insert((next, lane));
        let first = lane.own.entry(class).or_insert_with(|| own.clone());
        if *first != own {
            return Err(Unsupported::at(span, "elements of several groups"));
        }
        if arrives && !lane.arriving.contains(&class) {
            lane.arriving.push(class);
        }
        Ok(*number)
    }
}

/// How an index is used by a class.
fn used(index: &Expr, ranges: &[Range]) -> At {
    match (number(index, &known(ranges)), index) {
        (Some(_), _) => At::Number(0),
        (None, Expr::Var(var)) if ranges.iter().any(|range| range.var == *var) => At::Own,
        (None, _) => At::Moves,
    }
}

/// The values of indices that have one.
fn known(ranges: &[Range]) -> HashMap<VarId, i64> {
    let known = |range: &Range| Some((range.var, range.only()?));
    ranges.iter().filter_map(known).collect()
}

/// An expression of numbers and indices with one value, as a number.
fn number(expr: &Expr, known: &HashMap<VarId, i64>) -> Option<i64> {
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Var(var) => known.get(var).copied(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (number(a, known)?, number(b, known)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                _ => None,
            }
        }
        _ => None,
    }
}
