//! Independent copies: a protocol that consists of equal parts which share nothing.
//!
//! A kernel of many CTAs that share nothing is as many copies of one CTA. If every role has an
//! index of the same extent `X`, every operation of the role works on an element whose index at a
//! fixed position (per object) is that very index, and nothing else looks at it, then members with
//! different values share no object: the protocol is `X` copies of what it is for the value 0, and
//! it can get stuck iff one copy can. For `X < 1` there is nobody.
//!
//! The objects must have an element for every copy; that is an obligation.
//!
//! Copies that share some objects are another matter: `sharing.rs`.

use std::collections::BTreeMap;

use super::algebra;
use super::polynomial::Polynomial;
use super::sharing;
use super::statements;
use crate::certificate::program::Unsupported;
use crate::protocol::BufferId;
use crate::protocol::Cell;
use crate::protocol::Expr;
use crate::protocol::Protocol;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;
use crate::protocol::Work;

/// How a protocol falls apart into copies.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// How many copies there are; `None` if it does not fall apart.
    pub extent: Option<Expr>,
    /// The indices that number the copies: one per role, or fewer where copies share something.
    pub indices: Vec<VarId>,
    /// Per object, the position of the copy's number among its indices.
    pub objects: BTreeMap<usize, usize>,
    /// Whether copies also use objects that all of them use ([`super::sharing`]).
    pub shares: bool,
    /// Which kinds of copies there are: comparisons of the number, given as the first of
    /// `indices`, with values over parameters.
    pub comparisons: Vec<Expr>,
}

/// Looks for an index in every role that numbers independent copies. Only unknown extents are of
/// interest: known ones are enumerated.
pub fn copies(protocol: &Protocol) -> Copies {
    let found = independent(protocol);
    if found.extent.is_some() {
        return found;
    }
    sharing::sharing(protocol)
}

fn independent(protocol: &Protocol) -> Copies {
    let mut found = Copies::default();
    for role in &protocol.roles {
        let candidate = role.indices.iter().find_map(|index| {
            if matches!(index.extent, Expr::Int(_)) {
                return None;
            }
            let mut objects = found.objects.clone();
            separates(&role.body, index.var, &mut objects).then_some((index, objects))
        });
        let Some((index, objects)) = candidate else {
            return Copies::default();
        };
        let same = |known: &Expr| equal(known, &index.extent);
        if !found.extent.as_ref().is_none_or(same) {
            return Copies::default();
        }
        found.extent = Some(index.extent.clone());
        found.indices.push(index.var);
        found.objects = objects;
    }
    if found.objects.is_empty() {
        return Copies::default();
    }
    found
}

/// Whether two expressions are the same polynomial.
pub fn equal(a: &Expr, b: &Expr) -> bool {
    Polynomial::of(a).minus(&Polynomial::of(b)).is_zero()
}

/// Per buffer that is used, the position of the copy's number among its indices.
///
/// # Errors
///
/// Refuses an access to, or room for, what is not of its own copy, and copies that share something.
pub fn buffers(protocol: &Protocol) -> Result<BTreeMap<usize, usize>, Unsupported> {
    let mut all: BTreeMap<usize, usize> = BTreeMap::new();
    let copies = copies(protocol);
    if copies.extent.is_some() && copies.indices.len() != protocol.roles.len() {
        return Err(Unsupported::whole("data of copies that share objects"));
    }
    for (role, copy) in protocol.roles.iter().zip(copies.indices) {
        let mut blocks = vec![&role.body[..]];
        while let Some(block) = blocks.pop() {
            for stmt in block {
                let touches: Vec<(BufferId, &[Expr])> = match &stmt.kind {
                    StmtKind::Copy { touches, .. }
                    | StmtKind::Access {
                        work: Work::Now(touches) | Work::Async(touches),
                        ..
                    } => touches.iter().map(|t| (t.buffer, &t.index[..])).collect(),
                    StmtKind::Access {
                        work: Work::Lifetime { data, .. },
                        ..
                    } => data.iter().map(|d| (d.buffer, &d.index[..])).collect(),
                    StmtKind::If {
                        then, otherwise, ..
                    } => {
                        blocks.extend([&then[..], &otherwise[..]]);
                        continue;
                    }
                    StmtKind::For { body, .. } => {
                        blocks.push(body);
                        continue;
                    }
                    _ => continue,
                };
                for (buffer, index) in touches {
                    let own = index.iter().position(|e| *e == Expr::Var(copy));
                    let uses = index.iter().filter(|e| algebra::mentions(e, copy));
                    let known = own.map(|own| *all.entry(buffer.0).or_insert(own));
                    if uses.count() != 1 || known != own || own.is_none() {
                        return Err(Unsupported::at(
                            stmt.span,
                            "data that independent copies share",
                        ));
                    }
                }
            }
        }
    }
    Ok(all)
}

/// Whether every operation of a block works on an element of the copy `var`, and nothing else uses
/// `var`. Adds to the objects' positions.
fn separates(body: &[Stmt], var: VarId, objects: &mut BTreeMap<usize, usize>) -> bool {
    body.iter().all(|stmt| {
        let inside = match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => separates(then, var, objects) && separates(otherwise, var, objects),
            StmtKind::For { body, .. } => separates(body, var, objects),
            _ => true,
        };
        let mut uses = Vec::new();
        statements::visit_exprs(stmt, &mut |e| uses.push(algebra::mentions(e, var)));
        let uses = uses.into_iter().filter(|used| *used).count();
        // Exactly one use where there is an element, which is the copy's own, and none elsewhere.
        inside
            && match statements::cell_of(stmt) {
                Some(cell) => uses == 1 && own_element(cell, var, objects),
                None => uses == 0,
            }
    })
}

/// Whether an element is the copy's own, at the position known for the object or one to be known.
fn own_element(cell: &Cell, var: VarId, objects: &mut BTreeMap<usize, usize>) -> bool {
    let is_own = |e: &Expr| *e == Expr::Var(var);
    match objects.get(&cell.object.0) {
        Some(position) => cell.index.get(*position).is_some_and(is_own),
        None => match cell.index.iter().position(is_own) {
            Some(position) => {
                objects.insert(cell.object.0, position);
                true
            }
            None => false,
        },
    }
}
