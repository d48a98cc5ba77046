//! Copies that share objects: CTAs of unknown number, each with barriers of its own, that also meet
//! at counters and barriers of the whole grid.
//!
//! If an index of unknown extent `X` is used by roles in two ways only, as the very index, at a
//! fixed position per object, of elements that no other copy touches (*private* objects), and in
//! comparisons with values over parameters, then it numbers *copies*. Copies for which all
//! comparisons come out alike are one *kind*. Exchanging two copies of one kind, their members and
//! their private elements, changes nothing: it is an automorphism of the protocol, which maps every
//! shared element to itself.
//!
//! The rule's argument is about least vectors of places, which every automorphism maps to
//! themselves. So
//!
//! - in (c), the least stuck vector has one place per class and *kind*: what arrives at a private
//!   element comes from the members of one copy, what arrives at a shared element from all copies
//!   of all kinds, each as much as the next of its kind;
//! - in a cut, the member that is held marks its copy. What is left are the automorphisms that
//!   leave that copy alone: its classes have one place each
//!   ([`stops`](super::artefact::Hold::stops)), and so have those of all other copies of a kind
//!   together ([`elsewhere`](super::artefact::Hold::elsewhere)).
//!
//! A class is the members of one copy; [`Class::copies`](super::class::Class::copies) says how many
//! copies of its kind there are. The number of a copy stands for itself nowhere but in private
//! elements, where the kind's number takes its place: elements of different kinds differ, and those
//! of different copies of one kind are told apart by the groups they belong to.
//!
//! Shared objects may be semaphores and split-phase barriers. Private objects need an element for
//! every copy; that is an obligation. Data is no object: copies may share it, and name it by their numbers
//! (`pairs.rs`).

use std::collections::BTreeMap;

use super::algebra;
use super::comparisons::Uses;
use super::copies;
use super::copies::Copies;
use super::domain::few;
use super::statements;
use crate::protocol::Domain;
use crate::protocol::Expr;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::VarId;

/// The most comparisons one index may be split by.
pub(super) const MAX_COMPARISONS: usize = 4;

/// Looks for indices that number copies.
pub fn sharing(protocol: &Protocol) -> Copies {
    let mut extents: Vec<&Expr> = Vec::new();
    for index in protocol.roles.iter().flat_map(|role| &role.indices) {
        let new = !extents
            .iter()
            .any(|known| copies::equal(known, &index.extent));
        if new && open(protocol, &index.extent) {
            extents.push(&index.extent);
        }
    }
    let mut found = extents.into_iter();
    let found = found.find_map(|extent| of_extent(protocol, extent));
    found.unwrap_or_default()
}

/// Whether an extent has more values than are treated one at a time.
pub fn open(protocol: &Protocol, extent: &Expr) -> bool {
    match extent {
        Expr::Param(id) => match protocol.params[id.0].domain {
            Domain::AtLeast(_) => true,
            Domain::Range(lo, hi) => !few(lo, hi),
            Domain::Set(_) => false,
        },
        Expr::Binary(_, a, b) => open(protocol, a) || open(protocol, b),
        _ => false,
    }
}

/// The copies that indices of this extent number.
fn of_extent(protocol: &Protocol, extent: &Expr) -> Option<Copies> {
    let mut found = Copies {
        extent: Some(extent.clone()),
        shares: true,
        ..Copies::default()
    };
    let mut numbered = Vec::new();
    for role in &protocol.roles {
        let index = number_of(role, extent)?;
        if let Some(var) = index {
            found.indices.push(var);
        }
        numbered.push(index);
    }
    for (role, var) in protocol.roles.iter().zip(&numbered) {
        if let Some(var) = var {
            let first = *found.indices.first()?;
            let mut private = Private {
                var: *var,
                objects: &mut found.objects,
                uses: Uses::default(),
            };
            private.block(&role.body)?;
            if private.uses.otherwise {
                return None;
            }
            for comparison in private.uses.comparisons {
                let comparison = of_index(&comparison, first);
                if !found.comparisons.contains(&comparison) {
                    found.comparisons.push(comparison);
                }
            }
        }
    }
    let fits = found.comparisons.len() <= MAX_COMPARISONS
        && protocol.roles.iter().zip(&numbered).all(|(role, var)| {
            let mut fits = true;
            cells(&role.body, &mut |stmt, object, index| {
                let private = found.objects.get(&object);
                let kind = &protocol.objects[object].kind;
                fits &= match (private, var) {
                    (Some(at), Some(var)) => index.get(*at) == Some(&Expr::Var(*var)),
                    (Some(_), None) => false,
                    // What is set and shared has no place in any rule yet.
                    (None, Some(_)) => {
                        let set = matches!(stmt.kind, StmtKind::Set { .. });
                        let shared =
                            matches!(kind, ObjectKind::Semaphore(_) | ObjectKind::Barrier { .. });
                        shared && !set
                    }
                    (None, None) => true,
                };
                fits &= !matches!(kind, ObjectKind::Pool { .. });
            });
            fits
        });
    (fits && !found.objects.is_empty()).then_some(found)
}

/// The index of a role that numbers copies, if any; `None` if there are two.
fn number_of(role: &Role, extent: &Expr) -> Option<Option<VarId>> {
    let mut found = None;
    for index in &role.indices {
        let mut used = false;
        cells(&role.body, &mut |_, _, cell| {
            used |= cell.contains(&Expr::Var(index.var));
        });
        if used && copies::equal(&index.extent, extent) && found.replace(index.var).is_some() {
            return None;
        }
    }
    Some(found)
}

/// Collects the private objects of one role.
struct Private<'a> {
    var: VarId,
    objects: &'a mut BTreeMap<usize, usize>,
    uses: Uses,
}

impl Private<'_> {
    fn block(&mut self, body: &[Stmt]) -> Option<()> {
        for stmt in body {
            let mut private = false;
            if let Some(cell) = statements::cell_of(stmt) {
                let own = cell.index.iter().position(|e| *e == Expr::Var(self.var));
                if let Some(own) = own {
                    let known = self.objects.entry(cell.object.0).or_insert(own);
                    let once = cell.index.iter().filter(|e| algebra::mentions(e, self.var));
                    if *known != own || once.count() != 1 {
                        return None;
                    }
                    private = true;
                }
            }
            let (uses, var) = (&mut self.uses, self.var);
            statements::visit_exprs(stmt, &mut |e| {
                // The element comes first, whatever else looks at the number.
                if private && *e == Expr::Var(var) {
                    private = false;
                } else {
                    uses.expr(e, var);
                }
            });
            match &stmt.kind {
                StmtKind::If {
                    then, otherwise, ..
                } => {
                    self.block(then)?;
                    self.block(otherwise)?;
                }
                StmtKind::For { body, .. } => self.block(body)?,
                _ => {}
            }
        }
        Some(())
    }
}

/// Visits every operation on an object, with the object and its index.
pub fn cells(body: &[Stmt], visit: &mut dyn FnMut(&Stmt, usize, &[Expr])) {
    for stmt in body {
        if let Some(cell) = statements::cell_of(stmt) {
            visit(stmt, cell.object.0, &cell.index);
        }
        match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                cells(then, visit);
                cells(otherwise, visit);
            }
            StmtKind::For { body, .. } => cells(body, visit),
            _ => {}
        }
    }
}

impl Copies {
    /// The kinds of copies: which comparisons hold, as the index of one role.
    pub fn kinds(&self, var: VarId) -> Vec<Vec<(Expr, bool)>> {
        let outcomes = 0..1_u32 << self.comparisons.len();
        let kind = |outcomes: u32| {
            let all = self.comparisons.iter().enumerate();
            all.map(|(nth, c)| (of_index(c, var), outcomes & (1 << nth) != 0))
                .collect()
        };
        outcomes.map(kind).collect()
    }
}

/// The same comparison of another index, to the letter otherwise.
fn of_index(comparison: &Expr, var: VarId) -> Expr {
    match comparison {
        Expr::Binary(op, _, value) => Expr::binary(*op, Expr::Var(var), (**value).clone()),
        other => other.clone(),
    }
}
