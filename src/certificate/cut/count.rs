//! How often an operation has been executed when a member is at some place of its program, in closed form.

use super::algebra;
use super::flow::Flow;
use super::flow::Node;
use super::flow::Path;
use super::flow::Step;
use super::polynomial::Polynomial;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::Span;

/// The longest step of a ring.
const MAX_STRIDE: i64 = 8;

/// A place of a class's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Just before this operation, in the iterations that its loops' variables name.
    Site(usize),
    /// The same for a step on data.
    Point(usize),
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
    /// What is under way becomes a group.
    Groups,
    /// A step on data is done.
    Step(usize),
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
    /// `(stride * u + shift) mod modulus`: a ring.
    Ring {
        /// How far a step goes; other than 1 only where the modulus is a number.
        stride: i64,
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

impl Course {
    /// After how many steps an index comes back; `None` if it does not.
    pub fn period(&self) -> Option<Expr> {
        match self {
            Course::Ring {
                stride, modulus, ..
            } => Some(match modulus {
                Expr::Int(m) => Expr::Int(m.checked_div(gcd(*stride, *m)?)?),
                modulus => modulus.clone(),
            }),
            Course::Line { .. } => None,
        }
    }

    /// How many of the first `steps` steps were at `target`, which is an index of the ring.
    fn at(&self, steps: Expr, target: &Expr) -> Option<Expr> {
        let Course::Ring {
            stride,
            shift,
            modulus,
        } = self
        else {
            return None;
        };
        if *stride == 1 {
            return Some(algebra::congruent(steps, shift.clone(), modulus, target));
        }
        let Expr::Int(modulus) = *modulus else {
            return None;
        };
        // stride * u = target - shift (mod modulus) has solutions iff the greatest common divisor
        // divides the right side, and then they are those of u = residue (mod period).
        let divisor = gcd(*stride, modulus)?;
        let period = modulus.checked_div(divisor)?;
        let reduced = stride.checked_div(divisor)?;
        let inverse = inverse(reduced, period)?;
        let distance = algebra::sub(target.clone(), shift.clone());
        let quotient = algebra::binary(BinaryOp::Div, distance.clone(), Expr::Int(divisor));
        let scaled = algebra::mul(Expr::Int(inverse), quotient);
        let residue = algebra::binary(BinaryOp::Mod, scaled, Expr::Int(period));
        let rest = algebra::binary(BinaryOp::Mod, distance, Expr::Int(divisor));
        let solvable = algebra::binary(BinaryOp::Eq, rest, Expr::Int(0));
        let count = algebra::congruent(steps, Expr::Int(0), &Expr::Int(period), &residue);
        Some(algebra::choose(solvable, count, Expr::Int(0)))
    }
}

/// The number `x` in `0..modulus` with `a * x = 1` modulo `modulus`, if there is one. The extended Euclidean algorithm proposes
/// it; that it is one is computed.
fn inverse(a: i64, modulus: i64) -> Option<i64> {
    let (a, modulus) = (i128::from(a), i128::from(modulus));
    let (mut rest, mut next) = (modulus, a.checked_rem_euclid(modulus)?);
    let (mut found, mut factor) = (0_i128, 1_i128);
    while next != 0 {
        let quotient = rest.checked_div(next)?;
        (rest, next) = (next, rest.checked_sub(quotient.checked_mul(next)?)?);
        let less = found.checked_sub(quotient.checked_mul(factor)?)?;
        (found, factor) = (factor, less);
    }
    let x = found.checked_rem_euclid(modulus)?;
    let product = a.checked_mul(x)?.checked_rem_euclid(modulus)?;
    let one = 1_i128.checked_rem_euclid(modulus)?;
    (product == one).then(|| i64::try_from(x).ok())?
}

/// The greatest common divisor of a number and a positive one.
fn gcd(a: i64, b: i64) -> Option<i64> {
    match b {
        0 => Some(a),
        _ => gcd(b, a.checked_rem(b)?),
    }
}

impl Flow {
    /// How often `what` has happened when a member is at `place`: an expression over parameters
    /// and the variables of the loops around the place.
    pub fn before(&self, place: Place, what: Counted) -> Option<Expr> {
        match place {
            Place::End => self.total(&self.nodes, what),
            place => self.before_in(&self.nodes, place, what),
        }
    }

    fn before_in(&self, nodes: &[Node], place: Place, what: Counted) -> Option<Expr> {
        let mut sum = Expr::Int(0);
        for node in nodes {
            if !self.contains(node, place) {
                sum = algebra::add(sum, self.total(std::slice::from_ref(node), what)?);
                continue;
            }
            let inside = match node {
                Node::Site(_) | Node::Point(_) => Expr::Int(0),
                Node::If {
                    then, otherwise, ..
                } => {
                    let taken = if then.iter().any(|n| self.contains(n, place)) {
                        then
                    } else {
                        otherwise
                    };
                    self.before_in(taken, place, what)?
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
                    algebra::add(own, self.before_in(&this.body, place, what)?)
                }
            };
            return Some(algebra::add(sum, inside));
        }
        None
    }

    /// How often it happens while a block runs once.
    pub fn total(&self, nodes: &[Node], what: Counted) -> Option<Expr> {
        let mut sum = Expr::Int(0);
        for node in nodes {
            let here = match node {
                Node::Site(at) => Expr::Int(i64::from(what == Counted::Site(*at))),
                Node::Point(at) => {
                    let counts = match what {
                        Counted::Step(counted) => counted == *at,
                        Counted::Groups => {
                            matches!(self.points[*at].step, Step::CommitGroup)
                        }
                        Counted::Site(_) | Counted::Iteration(_) => false,
                    };
                    Expr::Int(i64::from(counts))
                }
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

    /// How many iterations a loop has had after so many iterations of the outermost loop around it,
    /// if that is the only one around it and the loop's length depends on it.
    pub fn after(&self, inner: usize, outer: &Expr) -> Option<Expr> {
        let this = self.loops.get(inner)?;
        let [around] = this.outer[..] else {
            return None;
        };
        let var = self.loops[around].var;
        let depends = algebra::mentions(&this.trips, var);
        depends.then(|| algebra::sum(&this.trips, var, outer))?
    }

    fn contains(&self, node: &Node, place: Place) -> bool {
        match node {
            Node::Site(at) => place == Place::Site(*at),
            Node::Point(at) => place == Place::Point(*at),
            Node::If {
                then, otherwise, ..
            } => {
                let mut both = then.iter().chain(otherwise);
                both.any(|n| self.contains(n, place))
            }
            Node::Loop(at) => {
                let mut body = self.loops[*at].body.iter();
                body.any(|n| self.contains(n, place))
            }
        }
    }

    /// Where a place stands; `None` for the end.
    pub fn path(&self, place: Place) -> Option<&Path> {
        match place {
            Place::Site(at) => Some(&self.sites[at].path),
            Place::Point(at) => Some(&self.points[at].path),
            Place::End => None,
        }
    }

    /// The statement at a place, in the text.
    pub fn span(&self, place: Place) -> Span {
        match place {
            Place::Site(at) => self.sites[at].span,
            Place::Point(at) => self.points[at].span,
            Place::End => Span::default(),
        }
    }

    /// Whether, in one iteration of the loops around both, a place comes after an operation.
    pub fn comes_after(&self, place: Place, site: usize) -> bool {
        match place {
            Place::Site(at) => site < at,
            Place::Point(at) => site < self.points[at].after,
            Place::End => true,
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
            Counted::Site(_) | Counted::Groups | Counted::Step(_) => (Expr::Int(1), Expr::Int(0)),
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
                let begun = match self.path(place) {
                    Some(path) if path.loops.contains(&level) => {
                        self.before_in(body, place, Counted::Site(site))?
                    }
                    _ => Expr::Int(0),
                };
                (each, begun)
            }
        };
        let count = match course {
            Course::Ring {
                stride,
                shift,
                modulus,
            } => {
                let done = course.at(rounds.clone(), target)?;
                let reached = algebra::mul(Expr::Int(*stride), rounds);
                let now = algebra::binary(
                    BinaryOp::Mod,
                    algebra::add(reached, shift.clone()),
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
        let Course::Ring { modulus, .. } = course else {
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
        let inside_loop = |path: &Path| path.loops.contains(&level);
        let own = self.path(place).is_some_and(inside_loop) && self.comes_after(place, site);
        let before = algebra::add(before, Expr::Int(i64::from(own)));
        let upto = algebra::max(lo.clone(), algebra::min(before, hi));
        let count = algebra::sub(course.at(upto, target)?, course.at(lo, target)?);
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
            Some((_, course)) => match course.period() {
                Some(period) => algebra::binary(BinaryOp::Div, clock, period),
                None => Expr::Int(0),
            },
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
    let still = |e: &Expr, stride: i64| {
        let steps = algebra::mul(Expr::Int(stride), clock.clone());
        let shift = Polynomial::of(e).minus(&Polynomial::of(&steps));
        let shift = shift.to_expr()?;
        (!moves(&shift)).then_some(shift)
    };
    match index {
        Expr::Binary(BinaryOp::Mod, inner, modulus) if !moves(modulus) => {
            let strides = match **modulus {
                Expr::Int(m) if m > 0 => MAX_STRIDE,
                _ => 1,
            };
            let (stride, shift) =
                (1..=strides).find_map(|stride| Some((stride, still(inner, stride)?)))?;
            Some(Course::Ring {
                stride,
                shift,
                modulus: (**modulus).clone(),
            })
        }
        other => Some(Course::Line {
            shift: still(other, 1)?,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::inverse;

    #[test]
    fn inverses_are_those_that_a_search_finds() {
        for modulus in 1..=30_i64 {
            for a in -40..=40_i64 {
                let searched = (0..modulus).find(|x| (a * x - 1).rem_euclid(modulus) == 0);
                assert_eq!(inverse(a, modulus), searched, "{a} modulo {modulus}");
            }
        }
        let far = 1_000_000_000_001;
        assert_eq!(inverse(3, far), Some(333_333_333_334));
        assert_eq!(inverse(i64::MIN, i64::MAX), Some(i64::MAX - 1));
        assert_eq!(inverse(1, 0), None);
    }
}
