//! Checks that the lanes of convergent operations are all there.
//!
//! A mask of `shfl.sync`, votes and the like names the lanes that have to execute them together. Instructions that
//! are `.aligned` are for all lanes of the warp, and those of `wgmma` for the four warps of a warpgroup. If some are
//! missing, the behaviour is undefined, and the others may wait forever. So such a kernel is refused. If only what the
//! whole warp computes cannot be followed, that its lanes are all there is assumed.
//!
//! These instructions signal nothing to other warps, so the recovery of events leaves them out.
//! Here the kernel is walked again, along a slice of what decides whether they are executed, and by
//! which lanes.
//!
//! Values from memory may differ between lanes. It is assumed that lanes take the same path at branches on them. A
//! ring word ([`super::ring_words`]) is the same for all warps in the same iteration, so loops that it controls have
//! the same trip count. A word that nobody writes ([`super::read_only_memory`]) is one number for all, as a parameter
//! is.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::Operation;
use crate::meaning::Relation;
use crate::recover::Shape;
use crate::recover::graph::Graph;
use crate::recover::read_only_memory::ReadOnlyMemory;
use crate::recover::ring_words::InOrderLoads;
use crate::recover::ring_words::RingWords;
use crate::recover::slice::Slice;
use crate::recover::slice::ties_lanes;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::EventKind;
use crate::recover::tree::LoopId;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Statement;
use crate::recover::trees::trees;
use crate::recover::walk::Purpose;

/// Warps of a warpgroup.
const WARPS: u32 = 4;

const ALIKE: &str = "lanes of a warp that exchange values go the same way where memory decides, and are those of the mask";

/// The same of what the whole warp computes.
const AGREE: &str = "all lanes of a warp agree where memory decides whether they come to an instruction of the whole warp, such as `mma`";

/// Assumed where it could not be followed who comes to such an instruction.
const UNFOLLOWED: &str =
    "all lanes of a warp carry out together each instruction of the whole warp, such as `mma`";

/// Whether the whole warp has to be there, and nothing else about it is followed.
fn is_of_whole_warp(operation: &Operation) -> bool {
    operation.kind.of_whole_warp().is_some()
}

fn has(kernel: &Kernel, which: fn(&Operation) -> bool) -> bool {
    let mut operations = kernel.blocks.iter().flat_map(|block| &block.operations);
    operations.any(which)
}

/// Refuses a kernel in which lanes or warps of such an operation may be missing. Returns the assumptions.
pub fn check_convergence(
    kernel: &Kernel,
    shape: Shape,
    in_turn: &InOrderLoads,
    over: fn() -> bool,
) -> Result<Vec<&'static str>, Obstacle> {
    let computes = has(kernel, is_of_whole_warp);
    let found = come_together(kernel, shape, in_turn, over, computes);
    if !computes || !found.as_ref().is_err_and(|obstacle| !obstacle.undefined) {
        return found;
    }
    let mut assumptions = come_together(kernel, shape, in_turn, over, false)?;
    assumptions.push(UNFOLLOWED);
    Ok(assumptions)
}

/// What is undefined for this reason in a kernel that is recovered in another way, and what is assumed of what its whole
/// warps compute. That other way looks at the rest by itself.
pub fn convergence_premises(
    kernel: &Kernel,
    shape: Shape,
    over: fn() -> bool,
) -> Result<Vec<&'static str>, Obstacle> {
    let computes = has(kernel, is_of_whole_warp);
    match come_together(kernel, shape, &InOrderLoads::default(), over, computes) {
        Err(obstacle) if obstacle.undefined => Err(obstacle),
        Err(_) => Ok(computes.then_some(UNFOLLOWED).into_iter().collect()),
        Ok(assumptions) if computes => Ok(assumptions),
        Ok(_) => Ok(Vec::new()),
    }
}

/// Walks the kernel for what lanes have to do together; `computes`: also for what only computes.
fn come_together(
    kernel: &Kernel,
    shape: Shape,
    in_turn: &InOrderLoads,
    over: fn() -> bool,
    computes: bool,
) -> Result<Vec<&'static str>, Obstacle> {
    let exchanges = has(kernel, ties_lanes);
    if !exchanges && !computes {
        return Ok(Vec::new());
    }
    let graph = Graph::new(kernel);
    let slice = Slice::of_lanes(kernel, &graph, computes);
    let mut arena = Arena {
        over: Some(over),
        unwritten: ReadOnlyMemory::new(kernel),
        ring_words: (!in_turn.is_empty()).then(RingWords::default),
        ..Arena::default()
    };
    let walked = (&graph, &slice);
    let trees = trees(kernel, shape, walked, &mut arena, Purpose::Together)?;
    let trees: BTreeMap<(u32, u32), Vec<Statement>> = trees
        .into_iter()
        .map(|(rank, warp, tree)| ((rank, warp), bare(tree)))
        .collect();
    for ((rank, warp), tree) in &trees {
        let first = trees.get(&(*rank, warp / WARPS * WARPS)).unwrap_or(tree);
        let last = trees.contains_key(&(*rank, warp / WARPS * WARPS + WARPS - 1));
        let Some(at) = multiplication(tree).or_else(|| multiplication(first)) else {
            continue;
        };
        let leads = warp % WARPS == 0;
        if !last || !(leads || Pairs::new(kernel, in_turn).alike(&arena, first, tree)) {
            return Err(Obstacle::new(
                "all four warps of a warpgroup have to multiply together, equally often, and it is not certain \
                         that they do: otherwise this is undefined",
                at,
            ));
        }
    }
    let mut assumptions = Vec::new();
    if arena.trusts_memory {
        assumptions.extend(exchanges.then_some(ALIKE));
        assumptions.extend(computes.then_some(AGREE));
    }
    if arena.terms.read_memory() {
        assumptions.extend(arena.unwritten.assumptions());
    }
    Ok(assumptions)
}

/// Where a multiplication stands, if there is one.
fn multiplication(statements: &[Statement]) -> Option<Location> {
    statements.iter().find_map(|statement| match statement {
        Statement::Event(event) => Some(event.location.clone()),
        Statement::If {
            then, otherwise, ..
        } => multiplication(then).or_else(|| multiplication(otherwise)),
        Statement::Loop { body, .. } => multiplication(body),
        Statement::Break | Statement::Return => None,
    })
}

/// Statements without branches and loops that do nothing.
fn bare(statements: Vec<Statement>) -> Vec<Statement> {
    let bare = statements.into_iter().map(|statement| match statement {
        Statement::If {
            condition,
            then,
            otherwise,
            location,
        } => Statement::If {
            condition,
            then: bare(then),
            otherwise: bare(otherwise),
            location,
        },
        Statement::Loop { id, body, location } => Statement::Loop {
            id,
            body: bare(body),
            location,
        },
        other => other,
    });
    bare.filter(|statement| match statement {
        Statement::If {
            then, otherwise, ..
        } => !(then.is_empty() && otherwise.is_empty()),
        Statement::Loop { body, .. } => multiplication(body).is_some() || returns(body),
        _ => true,
    })
    .collect()
}

fn returns(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Return => true,
        Statement::If {
            then, otherwise, ..
        } => returns(then) || returns(otherwise),
        Statement::Loop { body, .. } => returns(body),
        Statement::Event(_) | Statement::Break => false,
    })
}

/// Loops of two warps that are compared side by side. Also registers at their heads that are equal
/// in each iteration if all of them are.
#[derive(Debug, Clone)]
struct Pairs<'k> {
    kernel: &'k Kernel,
    in_turn: &'k InOrderLoads,
    loops: BTreeSet<(LoopId, LoopId)>,
    phis: BTreeSet<(u32, u32)>,
    terms: BTreeSet<(TermId, TermId)>,
}

impl<'k> Pairs<'k> {
    fn new(kernel: &'k Kernel, in_turn: &'k InOrderLoads) -> Self {
        Self {
            kernel,
            in_turn,
            loops: BTreeSet::new(),
            phis: BTreeSet::new(),
            terms: BTreeSet::new(),
        }
    }

    /// Whether two loads read the same word, in equal iterations of the loops around.
    fn read_alike(&self, arena: &Arena, a: u32, b: u32) -> bool {
        let load = |number: u32| arena.ring_words.as_ref()?.loads.get(number as usize);
        let (Some(a), Some(b)) = (load(a), load(b)) else {
            return false;
        };
        let (Some((one, _)), Some((two, _))) = (a.around, b.around) else {
            return false;
        };
        self.loops.contains(&(one, two)) && self.in_turn.are_alike(self.kernel, a, b)
    }

    /// Whether two warps do the same.
    fn alike(&mut self, arena: &Arena, a: &[Statement], b: &[Statement]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|pair| match pair {
                (Statement::Event(a), Statement::Event(b)) => match (&a.kind, &b.kind) {
                    (EventKind::Multiply(a), EventKind::Multiply(b)) => a == b,
                    _ => false,
                },
                (
                    Statement::If {
                        condition: a,
                        then: yes,
                        otherwise: no,
                        ..
                    },
                    Statement::If {
                        condition: b,
                        then,
                        otherwise,
                        ..
                    },
                ) => {
                    self.equal(arena, *a, *b)
                        && self.alike(arena, yes, then)
                        && self.alike(arena, no, otherwise)
                }
                (
                    Statement::Loop { id, body, .. },
                    Statement::Loop {
                        id: other,
                        body: second,
                        ..
                    },
                ) => {
                    self.loops.insert((*id, *other));
                    self.alike(arena, body, second)
                }
                (Statement::Break, Statement::Break) | (Statement::Return, Statement::Return) => {
                    true
                }
                _ => false,
            })
    }

    /// Whether two terms have the same value, in equal iterations of the loops around.
    fn equal(&mut self, arena: &Arena, a: TermId, b: TermId) -> bool {
        let terms = &arena.terms;
        if terms.width_of(a) != terms.width_of(b) {
            return false;
        }
        if !self.terms.insert((a, b)) {
            return true;
        }
        match (terms.node(a), terms.node(b)) {
            (Node::Atom(Atom::Phi(a)), Node::Atom(Atom::Phi(b))) => {
                let (one, two) = (&arena.phis[*a as usize], &arena.phis[*b as usize]);
                if !self.loops.contains(&(one.in_loop, two.in_loop)) {
                    return false;
                }
                !self.phis.insert((*a, *b))
                    || self.equal(arena, one.first, two.first)
                        && self.equal(arena, one.next, two.next)
            }
            (Node::Atom(Atom::RingWord(a)), Node::Atom(Atom::RingWord(b))) => {
                self.read_alike(arena, *a, *b)
            }
            // Nothing that two warps have both of is known of one of them only.
            _ if a == b => true,
            (
                Node::Sum { constant, parts },
                Node::Sum {
                    constant: other,
                    parts: more,
                },
            ) => constant == other && self.permuted(arena, parts, more),
            (Node::Binary(x, a, b), Node::Binary(y, c, d)) => {
                x == y && self.both(arena, x.commutes(), [*a, *b], [*c, *d])
            }
            (Node::Relation(x, a, b), Node::Relation(y, c, d)) => {
                x == y && self.both(arena, *x == Relation::Equal, [*a, *b], [*c, *d])
            }
            (Node::Not(a), Node::Not(b)) => self.equal(arena, *a, *b),
            (Node::Select(a, b, c), Node::Select(d, e, f)) => {
                self.equal(arena, *a, *d) && self.equal(arena, *b, *e) && self.equal(arena, *c, *f)
            }
            (
                Node::Extend { term, signed },
                Node::Extend {
                    term: other,
                    signed: also,
                },
            ) => signed == also && self.equal(arena, *term, *other),
            (
                Node::Extract { term, low },
                Node::Extract {
                    term: other,
                    low: from,
                },
            ) => low == from && self.equal(arena, *term, *other),
            (Node::Concatenate(a, b), Node::Concatenate(c, d)) => {
                self.equal(arena, *a, *c) && self.equal(arena, *b, *d)
            }
            _ => false,
        }
    }

    /// Whether two operands are equal to two others. If the operation commutes, either order will
    /// do: terms keep such operands in the order in which they were built, which may differ between
    /// warps.
    fn both(
        &mut self,
        arena: &Arena,
        commutes: bool,
        [a, b]: [TermId; 2],
        [c, d]: [TermId; 2],
    ) -> bool {
        if !commutes {
            return self.equal(arena, a, c) && self.equal(arena, b, d);
        }
        let before = self.clone();
        if self.equal(arena, a, c) && self.equal(arena, b, d) {
            return true;
        }
        // What a failed comparison has supposed is dropped.
        *self = before;
        self.equal(arena, a, d) && self.equal(arena, b, c)
    }

    /// Whether the parts of two sums are equal in some order.
    fn permuted(&mut self, arena: &Arena, a: &[(TermId, u128)], b: &[(TermId, u128)]) -> bool {
        let mut left: Vec<_> = b.to_vec();
        a.len() == b.len()
            && a.iter().all(|(part, factor)| {
                let before = self.clone();
                let found = left.iter().position(|(other, by)| {
                    // What a failed comparison has supposed is dropped.
                    *self = before.clone();
                    factor == by && self.equal(arena, *part, *other)
                });
                found.map(|at| left.swap_remove(at)).is_some()
            })
    }
}
