//! Pools that never keep anybody waiting, such as the registers of an SM that warps give back and take again.
//!
//! What a member holds of a pool at a place of its program is a number where amounts are numbers, both branches of a condition leave
//! it holding the same, and an iteration of a loop leaves it as it was. So the most that it ever holds is a number, and it
//! never gives back more than it holds. If the pool has that much for all members together, whoever takes from it finds what
//! it asks for: all others hold no more than their most, and it holds no more than its own afterwards. So no operation on such a pool blocks, and
//! nothing else looks at it. They are left out.

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
    /// Every pool has what all members hold at most.
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
            let what = format!("`{}` has all that members hold at most", object.name);
            for (scene, left) in self.scene.value(&left, &Env::new())? {
                push(&mut all, &name, what.clone(), &scene, left);
            }
        }
        Ok(all)
    }
}

/// What a member holds of a pool.
struct Held<'f> {
    flow: &'f Flow,
    pool: ObjectId,
    /// The most so far.
    most: i64,
}

impl Held<'_> {
    /// What it holds after a piece of its program, from what it holds before.
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
                    let refuse = || Unsupported::at(site.span, "such an amount of a pool");
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
                        let what = "a pool of which a member holds more in one case";
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
