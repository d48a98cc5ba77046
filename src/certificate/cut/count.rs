//! How often something has happened when a member is at a place of its program, in closed form.

use super::algebra;
use super::flow::Flow;
use super::flow::Node;
use super::polynomial::Polynomial;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// A place of a class's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Just before this operation, in the iterations that its loops' variables name.
    Site(usize),
    /// After the last operation.
    End,
}

/// Something that happens again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// An operation is done.
    Site(usize),
    /// An iteration of a loop is completed.
    Iteration(usize),
}

/// How the element that an operation works on moves with the number of its executions.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// What numbers the executions: the iterations of a loop around the operation, or its own
    /// executions.
    pub level: Counted,
    /// The moving index and how it moves; `None` if the element is always the same.
    pub moving: Option<(usize, Course)>,
}

/// How an index moves with the number `u` of the execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// `(u + shift) mod modulus`: a ring.
    Ring {
        /// Where it begins.
        shift: Expr,
        /// The number of elements.
        modulus: Expr,
    },
    /// `u + shift`: every execution has an element of its own.
    Line {
        /// Where it begins.
        shift: Expr,
    },
}

impl Flow {
    /// How often `what` has happened when a member is at `place`: an expression over parameters
    /// and the variables of the loops around the place.
    pub fn before(&self, place: Place, what: Counted) -> Option<Expr> {
        match place {
            Place::End => self.total(&self.nodes, what),
            Place::Site(site) => self.before_in(&self.nodes, site, what),
        }
    }

    fn before_in(&self, nodes: &[Node], site: usize, what: Counted) -> Option<Expr> {
        let mut sum = Expr::Int(0);
        for node in nodes {
            if !self.contains(node, site) {
                sum = algebra::add(sum, self.total(std::slice::from_ref(node), what)?);
                continue;
            }
            let inside = match node {
                Node::Site(_) => Expr::Int(0),
                Node::If {
                    then, otherwise, ..
                } => {
                    let taken = if then.iter().any(|n| self.contains(n, site)) {
                        then
                    } else {
                        otherwise
                    };
                    self.before_in(taken, site, what)?
                }
                Node::Loop(at) => {
                    let this = &self.loops[*at];
                    let nth = Expr::Var(this.var);
                    let own = if what == Counted::Iteration(*at) {
                        nth.clone()
                    } else {
                        let each = self.total(&this.body, what)?;
                        algebra::sum(&each, this.var, &nth)?
                    };
                    algebra::add(own, self.before_in(&this.body, site, what)?)
                }
            };
            return Some(algebra::add(sum, inside));
        }
        None
    }

    /// How often it happens while a block runs once.
    fn total(&self, nodes: &[Node], what: Counted) -> Option<Expr> {
        let mut sum = Expr::Int(0);
        for node in nodes {
            let here = match node {
                Node::Site(at) => Expr::Int(i64::from(what == Counted::Site(*at))),
                Node::If {
                    condition,
                    then,
                    otherwise,
                } => algebra::choose(
                    condition.clone(),
                    self.total(then, what)?,
                    self.total(otherwise, what)?,
                ),
                Node::Loop(at) => {
                    let this = &self.loops[*at];
                    if what == Counted::Iteration(*at) {
                        this.trips.clone()
                    } else {
                        let each = self.total(&this.body, what)?;
                        algebra::sum(&each, this.var, &this.trips)?
                    }
                }
            };
            sum = algebra::add(sum, here);
        }
        Some(sum)
    }

    fn contains(&self, node: &Node, site: usize) -> bool {
        match node {
            Node::Site(at) => *at == site,
            Node::If {
                then, otherwise, ..
            } => then.iter().chain(otherwise).any(|n| self.contains(n, site)),
            Node::Loop(at) => self.loops[*at].body.iter().any(|n| self.contains(n, site)),
        }
    }

    /// What numbers the executions of an operation, wherever its element goes: the iterations of
    /// the innermost loop around it, or its own executions outside loops.
    pub fn clock(&self, site: usize) -> Counted {
        match self.sites[site].path.loops.last() {
            Some(innermost) => Counted::Iteration(*innermost),
            None => Counted::Site(site),
        }
    }

    /// How an operation's element moves; `None` if in no way that is covered here.
    pub fn motion(&self, site: usize) -> Option<Motion> {
        let this = &self.sites[site];
        let moves = |e: &Expr| {
            this.path
                .loops
                .iter()
                .any(|l| algebra::mentions(e, self.loops[*l].var))
        };
        let moving: Vec<usize> = (0..this.index.len())
            .filter(|at| moves(&this.index[*at]))
            .collect();
        let mut levels: Vec<Counted> = this
            .path
            .loops
            .iter()
            .rev()
            .copied()
            .map(Counted::Iteration)
            .collect();
        levels.push(Counted::Site(site));
        match moving[..] {
            [] => Some(Motion {
                level: self.clock(site),
                moving: None,
            }),
            [at] => levels.into_iter().find_map(|level| {
                let clock = self.before(Place::Site(site), level)?;
                let course = course(&this.index[at], &clock, &moves)?;
                Some(Motion {
                    level,
                    moving: Some((at, course)),
                })
            }),
            _ => None,
        }
    }

    /// How often an operation has been done on the element `wanted` when a member is at `place`.
    pub fn visits(&self, site: usize, wanted: &[Expr], place: Place) -> Option<Expr> {
        let this = &self.sites[site];
        let motion = self.motion(site)?;
        let executions = || self.before(place, Counted::Site(site));
        let Some((moving, course)) = &motion.moving else {
            let same = same_element(&this.index, wanted, None);
            return Some(match same {
                Expr::Bool(false) => Expr::Int(0),
                same => algebra::choose(same, executions()?, Expr::Int(0)),
            });
        };
        let same = same_element(&this.index, wanted, Some(*moving));
        if same == Expr::Bool(false) {
            return Some(Expr::Int(0));
        }
        let target = &wanted[*moving];
        let rounds = self.before(place, motion.level)?;
        // How many executions one step of the numbering stands for, and how many of the step in
        // progress are done.
        let (each, begun) = match motion.level {
            Counted::Site(_) => (Expr::Int(1), Expr::Int(0)),
            Counted::Iteration(level) => {
                let body = &self.loops[level].body;
                let each = self.total(body, Counted::Site(site))?;
                let outer = &self.loops[level];
                let varies = algebra::mentions(&each, outer.var)
                    || outer
                        .outer
                        .iter()
                        .any(|l| algebra::mentions(&each, self.loops[*l].var));
                if varies {
                    let course = course.clone();
                    let count = self.visits_while(site, level, &course, target, place)?;
                    return Some(algebra::choose(same, count, Expr::Int(0)));
                }
                let begun = match place {
                    Place::Site(at) if self.sites[at].path.loops.contains(&level) => {
                        self.before_in(body, at, Counted::Site(site))?
                    }
                    _ => Expr::Int(0),
                };
                (each, begun)
            }
        };
        let count = match course {
            Course::Ring { shift, modulus } => {
                let done = algebra::congruent(rounds.clone(), shift.clone(), modulus, target);
                let now = algebra::binary(
                    BinaryOp::Mod,
                    algebra::add(rounds, shift.clone()),
                    modulus.clone(),
                );
                let here = algebra::binary(BinaryOp::Eq, now, target.clone());
                let total = algebra::add(
                    algebra::mul(each, done),
                    if begun == Expr::Int(0) {
                        Expr::Int(0)
                    } else {
                        algebra::choose(here, begun, Expr::Int(0))
                    },
                );
                algebra::choose(inside(target, modulus), total, Expr::Int(0))
            }
            Course::Line { shift } => {
                let nth = algebra::sub(target.clone(), shift.clone());
                let done = Expr::all([
                    algebra::binary(BinaryOp::Ge, nth.clone(), Expr::Int(0)),
                    algebra::binary(BinaryOp::Lt, nth.clone(), rounds.clone()),
                ]);
                let now = algebra::binary(BinaryOp::Eq, nth, rounds);
                algebra::choose(done, each, algebra::choose(now, begun, Expr::Int(0)))
            }
        };
        Some(algebra::choose(same, count, Expr::Int(0)))
    }

    /// The same for an operation that is skipped outside an interval of the iterations of the one
    /// loop around it: the iterations before the place, cut down to the interval.
    fn visits_while(
        &self,
        site: usize,
        level: usize,
        course: &Course,
        target: &Expr,
        place: Place,
    ) -> Option<Expr> {
        let this = &self.sites[site];
        let around = &self.loops[level];
        let Course::Ring { shift, modulus } = course else {
            return None;
        };
        if this.path.loops != [level] {
            return None;
        }
        let (mut lo, mut hi) = (Expr::Int(0), around.trips.clone());
        for condition in &this.path.conditions {
            let part = algebra::interval(condition, around.var)?;
            lo = part
                .lo
                .map_or(lo.clone(), |bound| algebra::max(lo.clone(), bound));
            hi = part
                .hi
                .map_or(hi.clone(), |bound| algebra::min(hi.clone(), bound));
        }
        let before = self.before(place, Counted::Iteration(level))?;
        // In the iteration of the place itself, only what stands before the place.
        let own = match place {
            Place::Site(at) => self.sites[at].path.loops.contains(&level) && site < at,
            Place::End => false,
        };
        let before = algebra::add(before, Expr::Int(i64::from(own)));
        let upto = algebra::max(lo.clone(), algebra::min(before, hi));
        let below = |x| algebra::congruent(x, shift.clone(), modulus, target);
        let count = algebra::sub(below(upto), below(lo));
        Some(algebra::choose(
            inside(target, modulus),
            count,
            Expr::Int(0),
        ))
    }

    /// How many earlier steps of the numbering were at the same element as the one an operation
    /// is in: what the generation it stands for is counted by.
    pub fn rounds(&self, site: usize) -> Option<Expr> {
        let motion = self.motion(site)?;
        let clock = self.before(Place::Site(site), motion.level)?;
        Some(match motion.moving {
            None => clock,
            Some((_, Course::Ring { modulus, .. })) => {
                algebra::binary(BinaryOp::Div, clock, modulus)
            }
            Some((_, Course::Line { .. })) => Expr::Int(0),
        })
    }
}

/// `0 <= target < modulus`, folded where the shape of the target says so.
fn inside(target: &Expr, modulus: &Expr) -> Expr {
    match target {
        Expr::Binary(BinaryOp::Mod, _, m) if **m == *modulus => Expr::Bool(true),
        _ => Expr::all([
            algebra::binary(BinaryOp::Le, Expr::Int(0), target.clone()),
            algebra::binary(BinaryOp::Lt, target.clone(), modulus.clone()),
        ]),
    }
}

fn same_element(index: &[Expr], wanted: &[Expr], skip: Option<usize>) -> Expr {
    let mut all = Expr::Bool(true);
    for (at, (own, wanted)) in index.iter().zip(wanted).enumerate() {
        if Some(at) != skip {
            let same = if own == wanted {
                Expr::Bool(true)
            } else {
                algebra::binary(BinaryOp::Eq, own.clone(), wanted.clone())
            };
            all = algebra::binary(BinaryOp::And, all, same);
        }
    }
    all
}

/// How an index moves with a clock: the two may differ by something that does not move.
fn course(index: &Expr, clock: &Expr, moves: &dyn Fn(&Expr) -> bool) -> Option<Course> {
    let still = |e: &Expr| {
        let shift = Polynomial::of(e).minus(&Polynomial::of(clock));
        let shift = shift.to_expr()?;
        (!moves(&shift)).then_some(shift)
    };
    match index {
        Expr::Binary(BinaryOp::Mod, inner, modulus) if !moves(modulus) => Some(Course::Ring {
            shift: still(inner)?,
            modulus: (**modulus).clone(),
        }),
        other => Some(Course::Line {
            shift: still(other)?,
        }),
    }
}

/// The variables of the loops around a place.
pub fn variables(flow: &Flow, place: Place) -> Vec<VarId> {
    match place {
        Place::End => Vec::new(),
        Place::Site(site) => flow.sites[site]
            .path
            .loops
            .iter()
            .map(|l| flow.loops[*l].var)
            .collect(),
    }
}
