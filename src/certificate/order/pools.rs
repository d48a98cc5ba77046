//! Pools that never make a member wait, such as the registers of an SM that warps give back and take again.
//!
//! The amount that a member holds of a pool at a place of its program is a fixed number under these conditions:
//! amounts are numbers; both branches of a condition leave it with the same amount; and an iteration of a loop leaves
//! the amount unchanged. So the most that a member ever holds is a number, and it is checked that a member never
//! gives back more than it holds. Suppose that the pool has the sum of these maxima over all members. Then a member
//! that takes from it always finds enough: the others hold at most their maxima, and the member itself then holds at
//! most its own. So no operation on such a pool blocks, and no other operation depends on the pool. So these
//! operations are left out.

use super::cases::Env;
use super::rule::Claim;
use super::rule::Rule;
use super::rule::push;
use crate::certificate::cut::algebra;
use crate::certificate::cut::flow::Flow;
use crate::certificate::cut::flow::Kind;
use crate::certificate::cut::flow::Node;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::ObjectKind;

impl Rule<'_> {
    /// Every pool has at least the sum of what the members hold at most.
    pub fn pools(&self) -> Result<Vec<Claim>, Unsupported> {
        let mut all = Vec::new();
        for (at, object) in self.protocol.objects.iter().enumerate() {
            let ObjectKind::Pool { capacity, .. } = &object.kind else {
                continue;
            };
            if !object.extents.is_empty() {
                return Err(Unsupported::at(object.span, "several pools by an index"));
            }
            let mut left = capacity.clone();
            for class in &self.classes {
                let mut held = Held {
                    flow: &class.flow,
                    pool: ObjectId(at),
                    most: 0,
                };
                held.through(&class.flow.nodes, 0)?;
                let together = algebra::mul(class.size.clone(), Expr::Int(held.most));
                left = algebra::sub(left, together);
            }
            let name = format!("pool_{}", object.name);
            let what = format!(
                "`{}` has as much as all members hold together at most",
                object.name
            );
            for (scene, left) in self.scene.value(&left, &Env::new())? {
                push(&mut all, &name, what.clone(), &scene, left);
            }
        }
        Ok(all)
    }
}

/// The amount of a pool that a member holds.
struct Held<'f> {
    flow: &'f Flow,
    pool: ObjectId,
    /// The most so far.
    most: i64,
}

impl Held<'_> {
    /// The amount that it holds after a piece of its program, given the amount before.
    fn through(&mut self, nodes: &[Node], before: i64) -> Result<i64, Unsupported> {
        let mut now = before;
        for node in nodes {
            match node {
                Node::Point(_) => {}
                Node::Site(at) => {
                    let site = &self.flow.sites[*at];
                    if site.object != self.pool {
                        continue;
                    }
                    let refuse = || {
                        Unsupported::at(
                            site.span,
                            "an amount that is taken from a pool or given back",
                        )
                    };
                    let next = match &site.kind {
                        Kind::Acquire {
                            amount: Expr::Int(amount @ 0..),
                        } => now.checked_add(*amount),
                        Kind::Release {
                            amount: Expr::Int(amount @ 0..),
                        } => now.checked_sub(*amount).filter(|left| *left >= 0),
                        _ => None,
                    };
                    now = next.ok_or_else(refuse)?;
                    self.most = self.most.max(now);
                }
                Node::If {
                    then, otherwise, ..
                } => {
                    let (then, otherwise) =
                        (self.through(then, now)?, self.through(otherwise, now)?);
                    if then != otherwise {
                        let what = "a pool of which a member holds more after one side of a branch than after the other";
                        return Err(Unsupported::whole(what));
                    }
                    now = then;
                }
                Node::Loop(at) => {
                    let after = self.through(&self.flow.loops[*at].body, now)?;
                    if after != now {
                        let what = "a pool of which a member holds more after an iteration";
                        return Err(Unsupported::whole(what));
                    }
                }
            }
        }
        Ok(now)
    }
}
