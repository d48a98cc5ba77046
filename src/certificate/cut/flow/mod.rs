//! The program of a class of identical members, with every local variable in closed form.
//!
//! A *class* is the members of a role that run the same program: index values that the program
//! looks at are enumerated or split off by comparisons, the others only multiply the size. In a
//! class's program every loop counts its iterations from 0 (short loops of known length are written
//! out), and every expression is over
//! parameters and iteration numbers only: a local variable is replaced by its closed form, whose
//! correctness is a list of [`Claim`]s, proved by induction over iterations.
//!
//! Refused, with the construct named: rows of a pattern, `break`, `return` inside a loop, and
//! local variables whose change per iteration has no closed form here.

mod builder;
mod closed_forms;
mod data;
mod loops;
mod operations;

use std::collections::HashMap;

use builder::Builder;

use super::algebra;
use super::own::Own;
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
    /// What it does to data, in text order.
    pub points: Vec<Point>,
    /// Its loops.
    pub loops: Vec<Loop>,
    /// What has to hold for the closed forms to be right.
    pub claims: Vec<Claim>,
    /// Everything the program evaluates.
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
    /// The number of the iteration, from 0.
    pub var: VarId,
    /// How many iterations; never negative.
    pub trips: Expr,
    /// The program of one iteration.
    pub body: Vec<Node>,
    /// The enclosing loops, outermost first.
    pub outer: Vec<usize>,
}

/// Where something stands: the loops around it and what must hold to get there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// The enclosing loops, outermost first.
    pub loops: Vec<usize>,
    /// The conditions of the enclosing branches.
    pub conditions: Vec<Expr>,
}

/// An expression about one place of the program: a truth that must hold whenever a run is there,
/// or an expression that is evaluated there.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Where.
    pub path: Path,
    /// The expression.
    pub expr: Expr,
    /// What it is about.
    pub about: String,
    /// The statement it belongs to.
    pub span: Span,
}

impl Flow {
    /// Whether a wait is preceded at once by a registration at its element, in the same place.
    pub fn follows_registration(&self, site: usize) -> bool {
        let at = &self.sites[site];
        let before = self.sites[..site].iter().rev().find(|s| s.may_meet(at));
        before.is_some_and(|s| {
            matches!(s.kind, Kind::Register { .. }) && s.path == at.path && s.index == at.index
        })
    }

    /// Whether every registration at elements that a registration may meet is followed at once by
    /// a wait for it: of the same statement, or (split-phase) the next operation on that object,
    /// in the same place and on the same element.
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

/// Derives the program of a class from a role's statements. `known` are the values of indices, and which
/// of them numbers copies, which stays as it is where data is named; `fixed` those of parameters, `own` the
/// variables that stand for semaphores. `any_length`: whether loops whose length depends on a loop around are
/// as long as they may be.
pub fn flow(
    protocol: &Protocol,
    body: &[Stmt],
    (known, number): (&HashMap<VarId, Expr>, Option<VarId>),
    fixed: &[(ParamId, i64)],
    own: &Own,
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

/// An expression with parameters replaced by the values they are fixed at.
pub fn at_fixed(expr: &Expr, fixed: &[(ParamId, i64)]) -> Expr {
    algebra::rewrite(expr, &|_| None, &|id| {
        let value = fixed.iter().find(|(known, _)| *known == id)?;
        Some(Expr::Int(value.1))
    })
}
