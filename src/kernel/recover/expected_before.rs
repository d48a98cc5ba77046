//! Copies whose mbarrier expects their bytes on another side of a branch.
//!
//! ```text
//! if c { expect full 8192; copy a -> full; .. }
//! wait other
//! if !c { .. } else { copy b -> full }                             each copy delivers 4096 bytes
//! ```
//!
//! The side behind `else` is executed where `c` holds, as is the block that expects the bytes. So the two belong to one phase,
//! and share its bytes, if all of this holds for one program:
//!
//! - `c` has the same value in both places: it is over inputs and numbers of rounds, not over variables, and both places lie in the
//!   same round of the same loops;
//! - all bytes of these blocks are expected before the first of their copies;
//! - between the first and the last of them, the program neither waits at the mbarrier nor expects other bytes there. Else a copy could
//!   belong to a later phase. A place that may be that of the mbarrier counts as such.
//!
//! Blocks with equal conditions that are all behind `if`, or all behind `else`, are taken for one block in [`super::bytes`], as before.

use crate::ir::Location;
use crate::recover::bytes::Header;
use crate::recover::bytes::UNCERTAIN;
use crate::recover::number::Number;
use crate::recover::rewrite::renumber;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Expect,
    Deliver,
    Wait,
}

/// What a program does with an mbarrier.
struct Step {
    around: Vec<Header>,
    /// Which sides these are: the number of a loop, or 1 behind `else`.
    sides: Vec<usize>,
    object: Object,
    kind: Kind,
    location: Location,
}

/// Refuses copies that do not certainly belong to the phase that the other side expects.
pub fn check(lines: &[Line]) -> Result<(), Obstacle> {
    let mut numbered = lines.to_vec();
    renumber(&mut numbered);
    let mut walk = Walk::default();
    walk.block(&numbered);
    let steps = walk.steps;
    for copy in steps.iter().filter(|step| step.kind == Kind::Deliver) {
        let beside = |step: &Step| {
            step.kind != Kind::Wait && step.object == copy.object && step.around == copy.around
        };
        let sides = |step: &Step| step.branches();
        let mut group = steps.iter().filter(|step| beside(step));
        if group.all(|step| sides(step) == sides(copy)) {
            continue;
        }
        let places: Vec<usize> = (0..steps.len()).filter(|at| beside(&steps[*at])).collect();
        let [first, .., last] = places[..] else {
            continue;
        };
        let expects = |at: &usize| steps[*at].kind == Kind::Expect;
        let first_copy = places.iter().find(|at| !expects(at));
        let last_expected = places.iter().rev().find(|at| expects(at));
        let fits = places.iter().all(|at| steps[*at].loops() == copy.loops())
            && copy.around.iter().all(is_fixed)
            && last_expected < first_copy
            && (first..=last).all(|at| {
                let step = &steps[at];
                beside(step) || step.kind == Kind::Deliver || apart(&step.object, &copy.object)
            });
        if !fits {
            return refuse(UNCERTAIN, &copy.location);
        }
    }
    Ok(())
}

impl Step {
    fn branches(&self) -> Vec<usize> {
        self.of(|header| !matches!(header, Header::For { .. }))
    }

    fn loops(&self) -> Vec<usize> {
        self.of(|header| matches!(header, Header::For { .. }))
    }

    fn of(&self, is: impl Fn(&Header) -> bool) -> Vec<usize> {
        let both = self.around.iter().zip(&self.sides);
        both.filter(|(header, _)| is(header))
            .map(|(_, side)| *side)
            .collect()
    }
}

/// Whether nothing that a program assigns decides about a block or how often it is executed.
fn is_fixed(header: &Header) -> bool {
    let mut fixed = true;
    let mut look = |number: &Number| {
        fixed &= !number.has_variables();
    };
    match header {
        Header::For { count, .. } => look(count),
        Header::Then(condition) | Header::Otherwise(condition) => condition.each(&mut look),
    }
    fixed
}

/// Whether two mbarriers are certainly different ones.
fn apart(one: &Object, other: &Object) -> bool {
    let distance = one.offset.minus(&other.offset);
    let distance = distance.and_then(|distance| distance.as_constant());
    one.variable != other.variable
        || one.rank != other.rank
        || distance.is_some_and(|distance| distance != 0)
}

#[derive(Default)]
struct Walk {
    around: Vec<Header>,
    sides: Vec<usize>,
    loops: usize,
    steps: Vec<Step>,
}

impl Walk {
    /// Notes the steps of a block, in the order of the program.
    fn block(&mut self, lines: &[Line]) {
        for line in lines {
            match line {
                Line::For {
                    index, count, body, ..
                } => {
                    self.loops += 1;
                    let header = Header::For {
                        index: *index,
                        count: count.clone(),
                    };
                    self.inside(header, self.loops, body);
                }
                Line::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    self.inside(Header::Then(condition.clone()), 0, then);
                    self.inside(Header::otherwise(condition), 1, otherwise);
                }
                Line::Action { action, location } => self.action(action, location),
                _ => {}
            }
        }
    }

    fn inside(&mut self, header: Header, side: usize, lines: &[Line]) {
        self.around.push(header);
        self.sides.push(side);
        self.block(lines);
        self.around.pop();
        self.sides.pop();
    }

    fn action(&mut self, action: &Action, location: &Location) {
        let (kind, object) = match action {
            Action::Expect { object, .. } | Action::ArriveExpect { object, .. } => {
                (Kind::Expect, object)
            }
            Action::Copy { object, .. } | Action::Complete { object, .. } => {
                (Kind::Deliver, object)
            }
            Action::Wait { object, .. } | Action::WaitOwn { object, .. } => (Kind::Wait, object),
            _ => return,
        };
        self.steps.push(Step {
            around: self.around.clone(),
            sides: self.sides.clone(),
            object: object.clone(),
            kind,
            location: location.clone(),
        });
    }
}
