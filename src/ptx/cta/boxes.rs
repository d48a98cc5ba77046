//! The number of bytes of tensor copies. PTX does not say how many bytes such a copy delivers. So the bytes that an
//! mbarrier expects are divided among the copies to it. It is an assumption that the boxes of the copies have exactly
//! these bytes.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::data::reach;
use super::family::Place;
use super::family::barrier;
use super::family::place;
use super::program::Program;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

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
    /// How often the loops around each statement run that expects or copies, and how many branches are around it.
    around: BTreeSet<(Vec<Sum>, usize)>,
    /// The loops around them, warp by warp.
    loops: BTreeMap<(u32, u32), BTreeSet<Vec<Unknown>>>,
    /// Where each of them begins to write, where accesses are followed.
    begun: Vec<Range>,
}

/// Places in a shared variable of a CTA: the least and the most offset, and the distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ptx) struct Range {
    pub rank: u32,
    pub base: String,
    low: i128,
    high: i128,
    step: i128,
}

impl Range {
    /// Where accesses may begin.
    pub fn of(address: &Sum, rank: u32, unknowns: &Unknowns) -> Option<Range> {
        let place = place(address, rank, unknowns, 0).ok()?;
        let first = place.offset.constant;
        let (low, high, step) = reach(&place.offset.plus_constant(-first), unknowns);
        let (low, high) = (low + first, high + first);
        let all = step == 0 || (high - low) / step < MOST_PLACES;
        all.then_some(Range {
            rank: place.rank,
            base: place.base,
            low,
            high,
            step,
        })
    }

    /// The places, in order.
    pub fn all(&self) -> impl Iterator<Item = i128> + use<> {
        let (low, step) = (self.low, self.step.max(1));
        (0..=(self.high - low) / step).map(move |k| low + k * step)
    }
}

/// Places of one copy that are told apart.
const MOST_PLACES: i128 = 1024;

/// What is expected on mbarriers, and what is copied to them, by all warps together.
#[derive(Debug)]
pub(in crate::ptx) struct Boxes {
    fillings: Vec<Filling>,
    /// Where tensor copies begin to write, in shared variables of CTAs.
    begun: BTreeMap<(u32, String), BTreeSet<i128>>,
}

impl Boxes {
    pub fn of(programs: &[Program], unknowns: &Unknowns) -> Boxes {
        let mut boxes = Boxes {
            fillings: Vec::new(),
            begun: BTreeMap::new(),
        };
        for program in programs {
            boxes.collect(
                &program.statements,
                program,
                (&mut Vec::new(), &mut Vec::new(), 0),
                unknowns,
            );
        }
        boxes
    }

    fn collect(
        &mut self,
        statements: &[Statement],
        program: &Program,
        (loops, times, branches): (&mut Vec<Unknown>, &mut Vec<Sum>, usize),
        unknowns: &Unknowns,
    ) {
        for statement in statements {
            match &statement.action {
                Action::For(unknown, rounds, body) => {
                    loops.push(*unknown);
                    times.push(rounds.clone());
                    self.collect(body, program, (loops, times, branches), unknowns);
                    loops.pop();
                    times.pop();
                }
                Action::If(_, yes, no) => {
                    for block in [yes, no] {
                        self.collect(block, program, (loops, times, branches + 1), unknowns);
                    }
                }
                action => {
                    let Some(address) = barrier(action) else {
                        continue;
                    };
                    let begun = match action {
                        Action::Copy(_, None, Some(area)) => {
                            Range::of(&area.address, program.rank, unknowns)
                        }
                        _ => None,
                    };
                    if let Some(range) = &begun {
                        let there = (range.rank, range.base.clone());
                        self.begun.entry(there).or_default().extend(range.all());
                    }
                    if let Some(at) = leveled(address, program.rank, loops, unknowns) {
                        let filling = self.at(at);
                        for warp in &program.warps {
                            let whose = (program.rank, *warp);
                            filling.add(action, whose, loops, (times, branches));
                            filling.begun.extend(begun.clone());
                        }
                    }
                }
            }
        }
    }

    fn at(&mut self, place: Place) -> &mut Filling {
        let found = self.fillings.iter().position(|f| f.place == place);
        let index = found.unwrap_or_else(|| {
            self.fillings.push(Filling {
                place,
                expected: Vec::new(),
                known: Sum::of(0),
                open: Vec::new(),
                around: BTreeSet::new(),
                loops: BTreeMap::new(),
                begun: Vec::new(),
            });
            self.fillings.len() - 1
        });
        &mut self.fillings[index]
    }

    /// How many bytes a copy can write before the place where the next tensor copy begins, wherever it
    /// begins itself; nothing if none begins after it.
    fn room(&self, range: &Range) -> Option<i128> {
        let begun = self.begun.get(&(range.rank, range.base.clone()))?;
        let room = |at: i128| Some(begun.range(at + 1..).next()? - at);
        range.all().filter_map(room).min()
    }

    /// Whether several CTAs fill an mbarrier.
    pub fn is_shared(
        &self,
        address: &Sum,
        rank: u32,
        loops: &[Unknown],
        unknowns: &Unknowns,
    ) -> bool {
        let at = leveled(address, rank, loops, unknowns);
        let mut found = self
            .fillings
            .iter()
            .filter(|f| Some(&f.place) == at.as_ref());
        found.any(|f| f.open.iter().any(|other| *other != f.place.rank))
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
        let filling = self.fillings.iter().find(|f| f.place == at)?;
        if filling.open.iter().all(|other| *other == at.rank) {
            return None;
        }
        let [expected] = filling.expected.as_slice() else {
            return Some(None);
        };
        if !filling.is_together() {
            return Some(None);
        }
        let count = i128::try_from(filling.open.len()).unwrap_or(1);
        let share = expected.minus(&filling.known).exactly_over(count);
        Some(share.filter(|s| s.as_constant().is_some_and(|bytes| bytes > 0)))
    }
}

/// Where the launch decides how many bytes several copies deliver, or copies of several CTAs cannot have equal
/// shares of what is expected (a tile of one's own and parts of one that CTAs send each other), they are counted
/// in copies: each delivers 1 of as many as there are. What is expected and what is delivered is the same multiple of that, as far as
/// the copies are alike, as they are taken to be where the bytes are known, too. Where they are not, an mbarrier still
/// completes when the last of the copies that are to fill it lands, whatever their sizes. Whether there is such an mbarrier.
pub(in crate::ptx) fn count_copies(programs: &mut [Program], unknowns: &Unknowns) -> bool {
    let boxes = Boxes::of(programs, unknowns);
    let open = |f: &&Filling| match f.expected.as_slice() {
        [bytes] if f.known == Sum::of(0) && f.open.len() > 1 && f.is_together() => {
            bytes.as_constant().is_none_or(|bytes| f.is_uneven(bytes))
        }
        _ => false,
    };
    let counted: Vec<&Filling> = boxes.fillings.iter().filter(open).collect();
    for program in &mut *programs {
        let rank = program.rank;
        let mut copies = |action: &Action, loops: &[Unknown]| {
            let at = leveled(barrier(action)?, rank, loops, unknowns)?;
            let filling = counted.iter().find(|f| f.place == at)?;
            i128::try_from(filling.open.len()).ok()
        };
        count_in(&mut program.statements, &mut Vec::new(), &mut copies);
    }
    !counted.is_empty()
}

fn count_in(
    statements: &mut [Statement],
    loops: &mut Vec<Unknown>,
    copies: &mut dyn FnMut(&Action, &[Unknown]) -> Option<i128>,
) {
    for statement in statements {
        let count = copies(&statement.action, loops);
        match &mut statement.action {
            Action::For(unknown, _, body) => {
                loops.push(*unknown);
                count_in(body, loops, copies);
                loops.pop();
            }
            Action::If(_, yes, no) => {
                count_in(yes, loops, copies);
                count_in(no, loops, copies);
            }
            Action::ExpectTx(_, bytes) | Action::ArriveExpectTx(_, bytes) => {
                if let Some(count) = count {
                    *bytes = Sum::of(count);
                }
            }
            Action::Copy(_, bytes @ None, _) if count.is_some() => *bytes = Some(Sum::of(1)),
            _ => {}
        }
    }
}

impl Filling {
    fn add(
        &mut self,
        action: &Action,
        whose: (u32, u32),
        loops: &[Unknown],
        (times, branches): (&[Sum], usize),
    ) {
        let rank = whose.0;
        match action {
            Action::ArriveExpectTx(_, bytes) | Action::ExpectTx(_, bytes) => {
                self.expected.push(bytes.clone());
            }
            Action::Copy(_, Some(bytes), _) => self.known = self.known.plus(bytes),
            Action::Copy(_, None, _) => self.open.push(rank),
            _ => return,
        }
        self.around.insert((times.to_vec(), branches));
        self.loops.entry(whose).or_default().insert(loops.to_vec());
    }

    /// Whether all copies are done whenever bytes are expected, as far as loops and branches tell: those of a warp stand
    /// in one loop and under no condition, and all loops run equally often.
    fn is_together(&self) -> bool {
        let plain = self.around.iter().all(|(_, branches)| *branches == 0);
        plain && self.around.len() == 1 && self.loops.values().all(|own| own.len() == 1)
    }

    /// Whether copies of several CTAs cannot have equal shares of so many bytes, although all of them are
    /// done whenever the bytes are expected.
    fn is_uneven(&self, bytes: i128) -> bool {
        let several = self.open.iter().any(|other| *other != self.place.rank);
        let count = i128::try_from(self.open.len()).unwrap_or(1);
        several && bytes >= count && bytes % count != 0
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

/// A statement by its block and its number there.
pub(in crate::ptx) type Around<'s> = (&'s [Statement], usize);

/// The bytes of the copy at this place, if it does not say how many it delivers.
pub(in crate::ptx) fn share(
    boxes: &Boxes,
    (statements, index): Around<'_>,
    around: Option<Around<'_>>,
    rank: u32,
    loops: &[Unknown],
    unknowns: &Unknowns,
) -> Option<Sum> {
    let Action::Copy(barrier, None, _) = &statements.get(index)?.action else {
        return None;
    };
    match boxes.share(barrier, rank, loops, unknowns) {
        Some(share) => share,
        None => local(statements, index).or_else(|| guarded(index, around?, statements)),
    }
}

/// The share of a copy of a branch, of what is expected where the same condition held before in the block
/// that the branch stands in.
fn guarded(index: usize, (block, branch): Around<'_>, within: &[Statement]) -> Option<Sum> {
    let Action::If(condition, yes, _) = &block.get(branch)?.action else {
        return None;
    };
    let here = if std::ptr::eq(yes.as_slice(), within) {
        condition.clone()
    } else {
        condition.negated()
    };
    let (mut done, mut place) = (Vec::new(), None);
    for (number, statement) in block.iter().enumerate() {
        let body = match &statement.action {
            Action::If(c, yes, _) if *c == here => yes.as_slice(),
            Action::If(c, _, no) if c.negated() == here => no.as_slice(),
            _ => std::slice::from_ref(statement),
        };
        if number == branch {
            place = Some(done.len() + index);
        }
        done.extend_from_slice(body);
    }
    local(&done, place?)
}

/// The bytes of the copy at this place, if it is the only one that fills its mbarrier. Several are taken to
/// write up to where the next tensor copy begins, as long as that is together what is expected.
pub(in crate::ptx) fn written(
    boxes: &Boxes,
    statements: &[Statement],
    index: usize,
    rank: u32,
    loops: &[Unknown],
    unknowns: &Unknowns,
) -> Option<Sum> {
    let Action::Copy(barrier, None, area) = &statements.get(index)?.action else {
        return None;
    };
    let at = leveled(barrier, rank, loops, unknowns)?;
    let filling = boxes.fillings.iter().find(|f| f.place == at)?;
    let expected = match (filling.open.as_slice(), filling.expected.as_slice()) {
        ([_], [expected]) => return Some(expected.minus(&filling.known)),
        (_, expected) => expected,
    };
    let mut all = 0i128;
    for bytes in expected {
        all += bytes.as_constant()?;
    }
    let mine = boxes.room(&Range::of(&area.as_ref()?.address, rank, unknowns)?);
    let rooms: Vec<Option<i128>> = filling.begun.iter().map(|r| boxes.room(r)).collect();
    let known: i128 = rooms.iter().flatten().sum();
    let left = all - filling.known.as_constant()? - known;
    let ends = rooms.iter().filter(|r| r.is_none()).count();
    let complete = rooms.len() == filling.open.len() && !expected.is_empty();
    match (mine, ends) {
        (Some(room), 0) if complete && left == 0 => Some(Sum::of(room)),
        (Some(room), 1) if complete && left > 0 => Some(Sum::of(room)),
        (None, 1) if complete && left > 0 && expected.len() == 1 => Some(Sum::of(left)),
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
    // What is expected in several steps is expected together, if nothing is copied in between.
    for statement in statements[..from].iter().rev() {
        match (&statement.action, expects(statement)) {
            (_, Some(more)) => left = left.plus(&more),
            (Action::Copy(b, ..), _) if b == barrier => break,
            (Action::Wait(b, _) | Action::WaitOwn(b), _) if b == barrier => break,
            (Action::For(..) | Action::If(..), _) => break,
            _ => {}
        }
    }
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
