//! Whether a role's work on declared data is visibly within the extents: `partial[b, i]` of `buffer partial[B, S]`, where `b`
//! is an index of the role in `0..B` and `i` runs over `0..S`.
//!
//! In a role that goes on with the result of an atomic operation, an index outside its extent is undefined for every
//! property. Who takes such operations out of a protocol (`arriver`, `normal/drawn.rs`) asks here, since no other check would see
//! such an index then. Whatever is not visibly within the extents is refused.

use std::collections::HashMap;

use crate::certificate::cut::leave;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Touch;
use crate::protocol::VarId;
use crate::protocol::Work;

/// The first statement of a role whose work on declared data is not plainly defined.
pub fn doubtful<'p>(protocol: &Protocol, role: &'p Role) -> Option<&'p Stmt> {
    let indices = role.indices.iter();
    let extents = indices.map(|index| (index.var, index.extent.clone()));
    let mut walk = Walk {
        protocol,
        changed: leave::changed(&role.body),
        extents: extents.collect(),
    };
    walk.block(&role.body)
}

struct Walk<'a> {
    protocol: &'a Protocol,
    changed: Vec<VarId>,
    /// The variables that run from 0 to below this.
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
