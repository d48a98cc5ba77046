//! Tensor copies do not say how many bytes they deliver: what is expected on an mbarrier is divided
//! among the copies to it. That their boxes fill it is assumed.

use super::facts::Facts;
use super::family::Place;
use super::family::barrier;
use super::family::place;
use super::machine::Unknowns;
use super::program::Program;
use super::statement::Action;
use super::statement::Statement;
use super::term::Sum;
use super::term::Unknown;

/// What is expected on one mbarrier, and what is copied to it.
#[derive(Debug)]
struct Filling {
    place: Place,
    /// What each statement that expects something expects.
    expected: Vec<Sum>,
    /// What is delivered by copies that say how much.
    known: Sum,
    /// The CTA of each copy that does not say.
    open: Vec<u32>,
}

/// What is expected on mbarriers, and what is copied to them, by all warps together.
#[derive(Debug)]
pub(super) struct Boxes(Vec<Filling>);

impl Boxes {
    pub fn of(programs: &[Program], unknowns: &Unknowns) -> Boxes {
        let mut boxes = Boxes(Vec::new());
        for program in programs {
            boxes.collect(&program.statements, program, &mut Vec::new(), unknowns);
        }
        boxes
    }

    /// Whether every copy says how much it delivers.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|f| f.open.is_empty())
    }

    fn collect(
        &mut self,
        statements: &[Statement],
        program: &Program,
        loops: &mut Vec<Unknown>,
        unknowns: &Unknowns,
    ) {
        for statement in statements {
            match &statement.action {
                Action::For(unknown, _, body) => {
                    loops.push(*unknown);
                    self.collect(body, program, loops, unknowns);
                    loops.pop();
                }
                Action::If(_, yes, no) => {
                    self.collect(yes, program, loops, unknowns);
                    self.collect(no, program, loops, unknowns);
                }
                action => {
                    let Some(address) = barrier(action) else {
                        continue;
                    };
                    if let Some(at) = leveled(address, program.rank, loops, unknowns) {
                        let filling = self.at(at);
                        for _ in &program.warps {
                            filling.add(action, program.rank);
                        }
                    }
                }
            }
        }
    }

    fn at(&mut self, place: Place) -> &mut Filling {
        let found = self.0.iter().position(|f| f.place == place);
        let index = found.unwrap_or_else(|| {
            self.0.push(Filling {
                place,
                expected: Vec::new(),
                known: Sum::of(0),
                open: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// The share of a copy to an mbarrier that several CTAs copy to; none where only one does.
    /// Inside, nothing if the share is not known.
    fn share(
        &self,
        address: &Sum,
        rank: u32,
        loops: &[Unknown],
        unknowns: &Unknowns,
    ) -> Option<Option<Sum>> {
        let at = leveled(address, rank, loops, unknowns)?;
        let filling = self.0.iter().find(|f| f.place == at)?;
        if filling.open.iter().all(|other| *other == at.rank) {
            return None;
        }
        let [expected] = filling.expected.as_slice() else {
            return Some(None);
        };
        let count = i128::try_from(filling.open.len()).unwrap_or(1);
        let share = expected.minus(&filling.known).exactly_over(count);
        Some(share.filter(|s| s.as_constant().is_some_and(|bytes| bytes > 0)))
    }
}

impl Filling {
    fn add(&mut self, action: &Action, rank: u32) {
        match action {
            Action::ArriveExpectTx(_, bytes) | Action::ExpectTx(_, bytes) => {
                self.expected.push(bytes.clone());
            }
            Action::Copy(_, Some(bytes), _) => self.known = self.known.plus(bytes),
            Action::Copy(_, None, _) => self.open.push(rank),
            _ => {}
        }
    }
}

/// The place of an address with loop variables named by how deep their loops are.
fn leveled(address: &Sum, rank: u32, loops: &[Unknown], unknowns: &Unknowns) -> Option<Place> {
    let mut place = place(address, rank, unknowns, 0).ok()?;
    let level = |u: Unknown| {
        let depth = loops.iter().position(|l| *l == u)?;
        let number = u32::MAX - u32::try_from(depth).unwrap_or(0);
        Some(Sum::unknown(Unknown(number)))
    };
    place.offset = Facts::default().replaced(&place.offset, &level);
    Some(place)
}

/// The bytes of the copy at this place, if it does not say how many it delivers.
pub(super) fn share(
    boxes: &Boxes,
    statements: &[Statement],
    index: usize,
    rank: u32,
    loops: &[Unknown],
    unknowns: &Unknowns,
) -> Option<Sum> {
    let Action::Copy(barrier, None, _) = &statements.get(index)?.action else {
        return None;
    };
    match boxes.share(barrier, rank, loops, unknowns) {
        Some(share) => share,
        None => local(statements, index),
    }
}

/// The bytes of the copy at this place, if it is the only one that fills its mbarrier: how several share
/// what is expected is not known.
pub(super) fn alone(
    boxes: &Boxes,
    statements: &[Statement],
    index: usize,
    rank: u32,
    loops: &[Unknown],
    unknowns: &Unknowns,
) -> Option<Sum> {
    let Action::Copy(barrier, None, _) = &statements.get(index)?.action else {
        return None;
    };
    let at = leveled(barrier, rank, loops, unknowns)?;
    let filling = boxes.0.iter().find(|f| f.place == at)?;
    match (filling.open.as_slice(), filling.expected.as_slice()) {
        ([_], [expected]) => Some(expected.minus(&filling.known)),
        _ => None,
    }
}

/// The share of the copy at this place, of what is expected in the same block before it.
fn local(statements: &[Statement], index: usize) -> Option<Sum> {
    let Action::Copy(barrier, None, _) = &statements.get(index)?.action else {
        return None;
    };
    let expects = |s: &Statement| match &s.action {
        Action::ArriveExpectTx(b, bytes) | Action::ExpectTx(b, bytes) if b == barrier => {
            Some(bytes.clone())
        }
        _ => None,
    };
    let from = (0..index)
        .rev()
        .find(|k| expects(&statements[*k]).is_some())?;
    let mut left = expects(&statements[from])?;
    let (mut open, mut last) = (0i128, index);
    for (number, statement) in statements.iter().enumerate().skip(from + 1) {
        if expects(statement).is_some() {
            break;
        }
        match &statement.action {
            Action::Copy(b, None, _) if b == barrier => {
                open += 1;
                last = number;
            }
            Action::Copy(b, Some(bytes), _) if b == barrier => left = left.minus(bytes),
            _ => {}
        }
    }
    let total = left.as_constant();
    match (open, total) {
        (1, _) => Some(left),
        (_, Some(total)) => {
            let share = total / open;
            let mine = if index == last {
                total - share * (open - 1)
            } else {
                share
            };
            (share > 0).then(|| Sum::of(mine))
        }
        _ => None,
    }
}
