//! Rings: the elements of an object, by how members go through them.
//!
//! Each index of an object is of one kind. It is a *number*, if it is a number in every use of the object. It is *own*,
//! if in every use it is a number, or made of one index of the role, as in `(c + 1) % C`. Then each member has one value
//! there. Otherwise it *moves*, and at most one index does. A *ring* is all elements whose numbers are given. Its
//! *groups* are told apart by the own indices. A member does something to only one group, in which all statements of its
//! class have the same own indices. At a semaphore it may add in one group and wait in another. The elements of a group
//! differ in the index that moves, or there is one. Rings have no element in common, and neither have groups.
//!
//! An own index determines the index of the role that it is made of, by an obligation (`groups.rs`): see
//! [`Own::inverse`]. A remainder is written out if the dividend is at least minus one divisor and less than two:
//! `a - t * b` is the remainder of `a` by `b` if it is in `0..b`. So the terms need no division there.
//!
//! Mbarriers that exist only when a statement has initialised them have a further ring each: that of their initialisations, each
//! of which is an arrival there.

use std::collections::BTreeMap;
use std::collections::HashMap;

use super::events::program::linear;
use super::events::program::mentions;
use super::system::Amount;
use super::system::Doing;
use super::system::Range;
use super::unsupported::Unsupported;
use crate::protocol::BinaryOp;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// Elements that are gone through, group by group.
#[derive(Debug, Clone)]
pub struct Ring {
    /// The object, by position.
    pub object: usize,
    /// Its indices.
    pub at: Vec<At>,
    /// The classes that arrive, or take of a pool, ascending.
    pub arriving: Vec<usize>,
    /// The own indices of the classes that do something there: where they wait, and where they do something else.
    pub own: BTreeMap<(usize, bool), Vec<Own>>,
    /// Whether it is of initialisations.
    pub init: bool,
}

/// An own index.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// Its value.
    pub value: Expr,
    /// The index of the role that it is made of, if any, and its value, in which its own name stands for this own index.
    pub inverse: Option<(VarId, Expr)>,
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

impl Ring {
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

/// Which rings there are, by object and indices, with their numbers.
pub struct Builder<'p> {
    /// The protocol.
    pub protocol: &'p Protocol,
    /// Per object and index: of which kind it is. The number is that of no use in particular.
    kinds: Vec<Vec<At>>,
    rings: BTreeMap<(usize, Vec<At>, bool), (usize, Ring)>,
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
            rings: BTreeMap::new(),
        }
    }

    /// The rings, by number.
    pub fn rings(self) -> Vec<Ring> {
        let mut rings: Vec<(usize, Ring)> = self.rings.into_values().collect();
        rings.sort_by_key(|(number, _)| *number);
        rings.into_iter().map(|(_, ring)| ring).collect()
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

    /// The ring of an element that a class does something to.
    ///
    /// # Errors
    ///
    /// More than one index moves, or the class does something to several groups.
    pub fn ring(
        &mut self,
        cell: &Cell,
        (class, ranges): (usize, &[Range]),
        doing: &Doing,
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
            at.push(match (kind, number(index, &known)) {
                (At::Number(_), Some(number)) => At::Number(number),
                (At::Own, Some(number)) => {
                    let (value, inverse) = (Expr::Int(number), None);
                    own.push(Own { value, inverse });
                    At::Own
                }
                (At::Own, None) => {
                    own.push(made_of(index, ranges).ok_or_else(super::unsupported::unfit)?);
                    At::Own
                }
                (At::Moves, _) | (At::Number(_), None) => At::Moves,
            });
        }
        let next = self.rings.len();
        let object = cell.object.0;
        let init = matches!(doing, Doing::Arrive(Amount::Init));
        let ring = Ring {
            object,
            at: at.clone(),
            arriving: Vec::new(),
            own: BTreeMap::new(),
            init,
        };
        let rings = &mut self.rings;
        let (number, ring) = rings.entry((object, at, init)).or_insert((next, ring));
        let kind = &self.protocol.objects[object].kind;
        let waits = matches!(doing, Doing::Value(..));
        for side in [false, true] {
            let both = !matches!(kind, ObjectKind::Semaphore(_));
            let first = || own.clone();
            if (both || side == waits)
                && *ring.own.entry((class, side)).or_insert_with(first) != own
            {
                return Err(Unsupported::at(span, "elements of several groups"));
            }
        }
        let arrives = matches!(doing, Doing::Arrive(_) | Doing::Take(_));
        if arrives && !ring.arriving.contains(&class) {
            ring.arriving.push(class);
        }
        Ok(*number)
    }
}

/// How an index is used by a class.
fn used(index: &Expr, ranges: &[Range]) -> At {
    match number(index, &known(ranges)) {
        Some(_) => At::Number(0),
        None if made_of(index, ranges).is_some() => At::Own,
        None => At::Moves,
    }
}

/// An index that is made of one index of the role and nothing else that differs between members or changes.
fn made_of(index: &Expr, ranges: &[Range]) -> Option<Own> {
    let mut vars = ranges.iter().map(|range| range.var);
    let var = vars.find(|var| mentions(index, *var))?;
    let (of, by) = match index {
        Expr::Binary(BinaryOp::Mod, of, by) if !mentions(by, var) => (&**of, Some(&**by)),
        _ => (index, None),
    };
    let (up, rest) = linear(of, var)?;
    if !is_closed(&rest) || !by.is_none_or(is_closed) {
        return None;
    }
    let back = match up {
        true => Expr::binary(BinaryOp::Sub, Expr::Var(var), rest),
        false => Expr::binary(BinaryOp::Sub, rest, Expr::Var(var)),
    };
    let (value, inverse) = match by {
        Some(by) => (remainder(of, by), (var, remainder(&back, by))),
        None => (index.clone(), (var, back)),
    };
    let inverse = Some(inverse);
    Some(Own { value, inverse })
}

/// Whether an expression is over parameters alone.
fn is_closed(expr: &Expr) -> bool {
    !matches!(expr, Expr::Var(_)) && expr.parts().into_iter().all(is_closed)
}

/// The remainder of a division, without one where the quotient is -1, 0 or 1.
fn remainder(of: &Expr, by: &Expr) -> Expr {
    let mut value = Expr::binary(BinaryOp::Mod, of.clone(), by.clone());
    for quotient in [-1, 1, 0] {
        let times = Expr::binary(BinaryOp::Mul, Expr::Int(quotient), by.clone());
        let rest = Expr::binary(BinaryOp::Sub, of.clone(), times);
        let least = Expr::binary(BinaryOp::Le, Expr::Int(0), rest.clone());
        let most = Expr::binary(BinaryOp::Lt, rest.clone(), by.clone());
        let inside = Box::new(Expr::all([least, most]));
        value = Expr::If(inside, Box::new(rest), Box::new(value));
    }
    value
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
