//! Elements that are numbered by hand, for example `ready[rank * tiles + tile]`.
//!
//! Let `mbarrier ready[ranks * tiles]` be used only as `ready[e * tiles + f]`. Here `f` is an
//! index, or the variable of a loop from 0 to `tiles`, or `x % tiles`. Rules know families of two
//! indices, each of which belongs to somebody. So this becomes `mbarrier ready[ranks, tiles]`, used
//! as `ready[e, f]`. Both are the same: `f` is in `0..tiles` wherever this is evaluated. So
//! different pairs have different numbers, and the number is in `0..ranks * tiles` exactly where
//! `e` is in `0..ranks`. Neither factor may be below 0.
//!
//! A `let` that names the number is looked through, as long as nothing that its value is made of
//! changes.
//!
//! Families of barriers and of data are rewritten. Counters are not, since the rules for them read
//! such sums.

use std::collections::HashMap;

use crate::certificate::cut::algebra;
use crate::certificate::cut::break_elimination;
use crate::certificate::cut::domain::never_negative;
use crate::certificate::cut::statements;
use crate::certificate::defined::evident;
use crate::certificate::once::says;
use crate::protocol::BinaryOp;
use crate::protocol::BufferId;
use crate::protocol::Expr;
use crate::protocol::Iteration;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;
use crate::protocol::Protocol;
use crate::protocol::Role;
use crate::protocol::Stmt;
use crate::protocol::StmtKind;
use crate::protocol::Touch;
use crate::protocol::VarId;
use crate::protocol::Work;

/// A family of one index.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Object(ObjectId),
    Buffer(BufferId),
}

/// The same protocol with two indices in place of each such number.
pub(super) fn delinearized(protocol: &Protocol) -> Protocol {
    let mut apart = protocol.clone();
    for (at, object) in protocol.objects.iter().enumerate() {
        let barrier = matches!(
            object.kind,
            ObjectKind::Mbarrier { .. } | ObjectKind::Barrier { .. } | ObjectKind::Named
        );
        let id = ObjectId(at);
        if barrier
            && object.home.is_none()
            && !claimed(&apart, id)
            && let Some((protocol, extents)) = pairs(&apart, Family::Object(id), &object.extents)
        {
            apart = protocol;
            apart.objects[at].extents = extents;
        }
    }
    for (at, buffer) in protocol.buffers.iter().enumerate() {
        let family = Family::Buffer(BufferId(at));
        if !buffer.backed
            && let Some((protocol, extents)) = pairs(&apart, family, &buffer.extents)
        {
            apart = protocol;
            apart.buffers[at].extents = extents;
        }
    }
    apart
}

/// Whether a claim looks at an object.
fn claimed(protocol: &Protocol, object: ObjectId) -> bool {
    fn in_block(body: &[Stmt], object: ObjectId) -> bool {
        body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Access {
                work: Work::Assert(claim),
                ..
            } => claim.values.iter().any(|(_, cell)| cell.object == object),
            StmtKind::If {
                then, otherwise, ..
            } => in_block(then, object) || in_block(otherwise, object),
            StmtKind::For { body, .. } => in_block(body, object),
            _ => false,
        })
    }
    let mut invariants = protocol.invariants.iter();
    invariants.any(|i| i.claim.values.iter().any(|(_, cell)| cell.object == object))
        || protocol.roles.iter().any(|r| in_block(&r.body, object))
}

/// The protocol with pairs for the numbers of a family, and the two extents.
fn pairs(protocol: &Protocol, family: Family, extents: &[Expr]) -> Option<(Protocol, Vec<Expr>)> {
    let [Expr::Binary(BinaryOp::Mul, a, b)] = extents else {
        return None;
    };
    if !never_negative(protocol, a) || !never_negative(protocol, b) {
        return None;
    }
    let ways = [(a, b), (b, a)];
    ways.into_iter().find_map(|(outer, inner)| {
        let mut apart = protocol.clone();
        let mut used = false;
        for role in &mut apart.roles {
            let mut walk = Walk::new(role, family, inner);
            walk.block(&mut role.body)?;
            used |= walk.used;
            for var in walk.seen {
                // Nobody looks at the name any more, unless it stands for something else, too.
                let mut without = role.body.clone();
                leave_out(protocol, &mut without, var);
                if !says(&without, var) {
                    role.body = without;
                }
            }
        }
        used.then(|| (apart, vec![(**outer).clone(), (**inner).clone()]))
    })
}

/// Leaves out what gives a name a value that is plainly defined.
fn leave_out(protocol: &Protocol, body: &mut Vec<Stmt>, name: VarId) {
    body.retain(|stmt| match &stmt.kind {
        StmtKind::Assign { var, value } => *var != name || !evident(protocol, value),
        _ => true,
    });
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::If {
                then, otherwise, ..
            } => {
                leave_out(protocol, then, name);
                leave_out(protocol, otherwise, name);
            }
            StmtKind::For { body, .. } => leave_out(protocol, body, name),
            _ => {}
        }
    }
}

struct Walk<'w> {
    family: Family,
    /// How many values the last index has.
    inner: &'w Expr,
    /// Names that are in `0..inner`.
    within: Vec<VarId>,
    /// What a role assigns to, once for each statement.
    changed: Vec<VarId>,
    /// What `let`s in front stand for.
    named: HashMap<VarId, Expr>,
    /// The `let`s that were looked through.
    seen: Vec<VarId>,
    used: bool,
}

impl<'w> Walk<'w> {
    fn new(role: &Role, family: Family, inner: &'w Expr) -> Walk<'w> {
        let changed = break_elimination::changed(&role.body);
        let indices = role.indices.iter();
        let own = indices.filter(|index| index.extent == *inner && !changed.contains(&index.var));
        Walk {
            family,
            inner,
            within: own.map(|index| index.var).collect(),
            changed,
            named: HashMap::new(),
            seen: Vec::new(),
            used: false,
        }
    }

    /// `None` if an element has another form.
    fn block(&mut self, body: &mut [Stmt]) -> Option<()> {
        let outside = self.named.clone();
        for stmt in body {
            self.statement(stmt)?;
        }
        self.named = outside;
        Some(())
    }

    fn statement(&mut self, stmt: &mut Stmt) -> Option<()> {
        if let Family::Object(object) = self.family
            && let Some(cell) = statements::cell_mut(&mut stmt.kind)
            && cell.object == object
        {
            self.pair(&mut cell.index)?;
        }
        match &mut stmt.kind {
            StmtKind::Copy { touches, .. }
            | StmtKind::Access {
                work: Work::Now(touches) | Work::Async(touches),
                ..
            } => self.data(touches)?,
            StmtKind::If {
                then, otherwise, ..
            } => {
                self.block(then)?;
                self.block(otherwise)?;
                self.forget(&break_elimination::changed(then));
                self.forget(&break_elimination::changed(otherwise));
            }
            StmtKind::For { var, over, body } => {
                let plain = match over {
                    Iteration::Range {
                        lo: Expr::Int(0),
                        hi,
                        ..
                    } => hi == self.inner && !self.changed.contains(var),
                    _ => false,
                };
                if plain {
                    self.within.push(*var);
                }
                // An iteration begins with what the one before has changed.
                self.forget(&break_elimination::changed(body));
                self.block(body)?;
                if plain {
                    self.within.pop();
                }
            }
            StmtKind::Assign { var, value } => {
                let value = self.looked_through(value);
                self.forget(&[*var]);
                // The name is assigned to once. So it keeps this value until the end of the block.
                let once = self.changed.iter().filter(|v| *v == var).count() == 1;
                if once && !algebra::mentions(&value, *var) {
                    self.named.insert(*var, value);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Forgets what a `let` stands for once something that its value is made of changes.
    fn forget(&mut self, changed: &[VarId]) {
        let moves = |e: &Expr| changed.iter().any(|var| algebra::mentions(e, *var));
        self.named.retain(|_, value| !moves(value));
    }

    fn data(&mut self, touches: &mut [Touch]) -> Option<()> {
        for touch in touches {
            if self.family == Family::Buffer(touch.buffer) {
                self.pair(&mut touch.index)?;
            }
        }
        Some(())
    }

    fn looked_through(&self, e: &Expr) -> Expr {
        algebra::replace(e, &|var| self.named.get(&var).cloned(), &|_| None)
    }

    /// Two indices in place of their number.
    fn pair(&mut self, index: &mut Vec<Expr>) -> Option<()> {
        let [number] = &index[..] else {
            return None;
        };
        let Expr::Binary(BinaryOp::Add, a, b) = self.looked_through(number) else {
            return None;
        };
        let outer = |product: &Expr, last: &Expr| {
            let inside = match last {
                Expr::Var(var) => self.within.contains(var),
                Expr::Binary(BinaryOp::Mod, _, divisor) => **divisor == *self.inner,
                _ => false,
            };
            let Expr::Binary(BinaryOp::Mul, a, b) = product else {
                return None;
            };
            let outer = match (**a == *self.inner, **b == *self.inner) {
                (_, true) => a,
                (true, _) => b,
                _ => return None,
            };
            inside.then(|| vec![(**outer).clone(), last.clone()])
        };
        let pair = outer(&a, &b).or_else(|| outer(&b, &a))?;
        if let Expr::Var(name) = number {
            self.seen.push(*name);
        }
        *index = pair;
        self.used = true;
        Some(())
    }
}
