//! A syntactic bounds check of a role's accesses to declared data. For example, `partial[b, i]` is within the extents of
//! `buffer partial[B, S]` if `b` is an index of the role in `0..B` and `i` is the variable of a loop over `0..S`.
//!
//! If a role has an atomic operation with a result, an index outside its extent is undefined for every property.
//! `arriver` and `normal/drawn.rs` remove such operations from a protocol. After that no other check would find such an
//! index. So they check here first, and refuse an access that is not within the extents in this syntactic sense.

use std::collections::HashMap;

use crate::certificate::cut::break_elimination;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Touch;
use crate::protocol::VarId;
use crate::protocol::Work;

/// The first statement of a role with an access that this check does not find within the extents.
pub fn unproved_access<'p>(protocol: &Protocol, role: &'p Role) -> Option<&'p Stmt> {
    let indices = role.indices.iter();
    let extents = indices.map(|index| (index.var, index.extent.clone()));
    let mut walk = Walk {
        protocol,
        changed: break_elimination::changed(&role.body),
        extents: extents.collect(),
    };
    walk.block(&role.body)
}

struct Walk<'a> {
    protocol: &'a Protocol,
    changed: Vec<VarId>,
    /// For each variable that counts from 0, its upper bound, which is excluded.
    extents: HashMap<VarId, Expr>,
}

impl Walk<'_> {
    fn block<'p>(&mut self, body: &'p [Stmt]) -> Option<&'p Stmt> {
        body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => self.block(then).or_else(|| self.block(otherwise)),
            StmtKind::For { var, over, body } => {
                if let Iteration::Range {
                    lo: Expr::Int(0),
                    hi,
                    ..
                } = over
                {
                    self.extents.insert(*var, hi.clone());
                }
                let found = self.block(body);
                self.extents.remove(var);
                found
            }
            StmtKind::Access {
                work: Work::Now(touched),
                ..
            } => {
                let doubt = touched.iter().any(|touch| !self.plain(touch));
                doubt.then_some(stmt)
            }
            _ => None,
        })
    }

    fn plain(&self, touch: &Touch) -> bool {
        let Some(buffer) = self.protocol.buffers.get(touch.buffer.0) else {
            return false;
        };
        let same = touch.index.len() == buffer.extents.len();
        let mut places = touch.index.iter().zip(&buffer.extents);
        same && places.all(|(index, extent)| match (index, extent) {
            (Expr::Int(at), Expr::Int(extent)) => (0..*extent).contains(at),
            (Expr::Var(var), extent) => {
                !self.changed.contains(var) && self.extents.get(var) == Some(extent)
            }
            _ => false,
        })
    }
}
