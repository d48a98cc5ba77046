//! The program of a class of identical members, with every local variable in closed form.
//!
//! A *class* is the set of all members of a role that run the same program. Indices that the program
//! uses are enumerated, or split by the outcomes of comparisons. All other indices only multiply the
//! size of the class.
//!
//! In the program of a class every loop counts its iterations from 0, and short loops of known length
//! are unrolled. Every expression is over parameters and iteration numbers only, because a local
//! variable is replaced by its closed form. A list of [`Claim`]s states that the closed forms are
//! right. It is proved by induction over the iterations.
//!
//! Refused, with the construct named: synchronization that depends on the entries of a row, exits from
//! a loop that `break_elimination.rs` does not rewrite, and local variables without a closed form.

mod builder;
mod closed_forms;
mod data;
mod loops;
mod operations;

use std::collections::HashMap;

use builder::Builder;

use super::algebra;
use super::owned_semaphores::OwnedSemaphores;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Span;
use crate::protocol::Stmt;
use crate::protocol::VarId;

pub use data::Lasting;
pub use data::Point;
pub use data::Step;
pub use data::Value;
pub use operations::Kind;
pub use operations::Site;

/// A class's program.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The program, in order.
    pub nodes: Vec<Node>,
    /// Its operations, in text order.
    pub sites: Vec<Site>,
    /// Its steps on data, in text order.
    pub points: Vec<Point>,
    /// Its loops.
    pub loops: Vec<Loop>,
    /// Conditions under which the closed forms are right.
    pub claims: Vec<Claim>,
    /// Every expression that the program evaluates.
    pub evaluations: Vec<Claim>,
}

/// A piece of the program.
#[derive(Debug, Clone)]
pub enum Node {
    /// An operation, by its position in [`Flow::sites`].
    Site(usize),
    /// A step on data, by its position in [`Flow::points`].
    Point(usize),
    /// Runs one of two blocks.
    If {
        /// The condition.
        condition: Expr,
        /// Taken when it holds.
        then: Vec<Node>,
        /// Taken when it does not.
        otherwise: Vec<Node>,
    },
    /// Runs a loop, by its position in [`Flow::loops`].
    Loop(usize),
}

/// A loop.
#[derive(Debug, Clone)]
pub struct Loop {
    /// The induction variable: the number of the iteration, from 0.
    pub var: VarId,
    /// The trip count; never negative.
    pub trips: Expr,
    /// The program of one iteration.
    pub body: Vec<Node>,
    /// The enclosing loops, outermost first.
    pub outer: Vec<usize>,
}

/// A place in the program: the loops around it, and the conditions under which control reaches it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// The enclosing loops, outermost first.
    pub loops: Vec<usize>,
    /// The conditions of the enclosing branches.
    pub conditions: Vec<Expr>,
}

/// An expression at one place of the program: a condition that must hold whenever a run is there, or
/// an expression that is evaluated there.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The place.
    pub path: Path,
    /// The expression.
    pub expr: Expr,
    /// The subject, in words.
    pub about: String,
    /// The statement it belongs to.
    pub span: Span,
}

impl Flow {
    /// Whether a registration at the element of a wait directly precedes it, in the same place.
    pub fn follows_registration(&self, site: usize) -> bool {
        let at = &self.sites[site];
        let before = self.sites[..site].iter().rev().find(|s| s.may_meet(at));
        before.is_some_and(|s| {
            matches!(s.kind, Kind::Register { .. }) && s.path == at.path && s.index == at.index
        })
    }

    /// Whether every registration that may use the same element as this one is directly followed by a
    /// wait for it. The wait is of the same statement. At a split-phase barrier it may also be the next
    /// operation on that object, in the same place and on the same element.
    pub fn always_awaits(&self, site: usize) -> bool {
        let at = &self.sites[site];
        let related: Vec<&Site> = self.sites.iter().filter(|s| s.may_meet(at)).collect();
        related.iter().enumerate().all(|(nth, this)| {
            let wait = |other: &Site| {
                matches!(other.kind, Kind::Await)
                    && other.path == this.path
                    && other.index == this.index
            };
            !matches!(this.kind, Kind::Register { .. })
                || related.get(exact::next(nth)).is_some_and(|next| wait(next))
        })
    }
}

/// Derives the program of a class from the statements of a role.
///
/// - `known` has the values of indices. `number` is the index that numbers the copies, if there is one. It is not
///   replaced by its value in the indices of data.
/// - `fixed` has the values of parameters.
/// - `own` has the variables that stand for semaphores.
/// - `any_length`: treats the trip count of a loop as an unknown function if it depends on an enclosing loop.
pub fn flow(
    protocol: &Protocol,
    body: &[Stmt],
    (known, number): (&HashMap<VarId, Expr>, Option<VarId>),
    fixed: &[(ParamId, i64)],
    own: &OwnedSemaphores,
    any_length: bool,
) -> Result<Flow, Unsupported> {
    let mut builder = Builder {
        any_length,
        number,
        protocol,
        fixed,
        own,
        next: own.next(protocol),
        flow: Flow {
            nodes: Vec::new(),
            sites: Vec::new(),
            points: Vec::new(),
            loops: Vec::new(),
            claims: Vec::new(),
            evaluations: Vec::new(),
        },
    };
    let mut values = known.clone();
    for (var, start) in own.starts(protocol) {
        values.insert(var, at_fixed(&start, fixed));
    }
    let nodes = builder.block(body, &mut values, &Path::default())?;
    builder.flow.nodes = nodes;
    Ok(builder.flow)
}

/// An expression with the parameters in `fixed` replaced by their values.
pub fn at_fixed(expr: &Expr, fixed: &[(ParamId, i64)]) -> Expr {
    algebra::rewrite(expr, &|_| None, &|id| {
        let value = fixed.iter().find(|(known, _)| *known == id)?;
        Some(Expr::Int(value.1))
    })
}
