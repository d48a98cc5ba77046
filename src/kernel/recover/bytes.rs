//! Finds how many bytes each tensor copy delivers. Only the tensor map has that number, so it is
//! derived from what the mbarrier of the copy expects.
//!
//! ```text
//! for i { expect full 4096; copy a -> full; copy b -> full }     each copy delivers 2048 bytes
//! ```
//!
//! It is assumed, and printed, that the copies of a phase deliver what the phase expects. What a
//! block of lines expects at an mbarrier is divided among the copies to it in that block. CTAs may
//! also copy to the mbarrier of another CTA of the cluster. That CTA has to expect the bytes in the
//! same block of its own program: in the same loops and branches, for the same mbarrier. Then the
//! copies of all these CTAs share the bytes.
//!
//! A block may also be the side of a branch whose opposite condition is that of the block that expects the bytes:
//! [`super::expected_before`].
//!
//! A block may have several phases, for example in an unrolled loop. A phase begins where bytes are
//! expected after a copy. Each phase needs copies, all of them before the warp waits again. If the
//! phase of a copy is not certain, and it matters, the kernel is refused. So it is if a block expects
//! bytes at the mbarrier and no copy or delivery stands in it: an earlier copy may be for these.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ir::Kernel;
use crate::ir::Location;
use crate::recover::boxes;
use crate::recover::boxes::Begins;
use crate::recover::boxes::SIDE_BY_SIDE;
use crate::recover::boxes::home;
use crate::recover::boxes::mapped;
use crate::recover::expected_before::check;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::rewrite::renumber;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::tree::Obstacle;

/// The assumption about every tensor copy.
const ASSUMPTION: &str = "the tensor copies of a phase deliver the bytes that it expects";

const UNKNOWN: &str =
    "how many bytes this copy delivers is not known: its mbarrier expects them elsewhere";

pub const UNCERTAIN: &str = "how many bytes this copy delivers is not known: it is not certain to which phase of its mbarrier it belongs";

/// The bytes up to where the next tensor copy begins ([`Begins::room`]), if accesses are followed.
type Room<'a> = &'a dyn Fn(&Object) -> Option<i128>;

/// A loop or a side of a branch around a block. Loops and variables are numbered from the beginning
/// of the program, so that blocks of different programs can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Header {
    For { index: u32, count: Number },
    Then(Condition),
    Otherwise(Condition),
}

impl Header {
    /// The side behind `else`, under the negated condition.
    pub fn otherwise(condition: &Condition) -> Self {
        match condition.clone().negated() {
            Some(negated) => Self::Then(negated),
            None => Self::Otherwise(condition.clone()),
        }
    }
}

/// A block of a program, and an mbarrier that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    around: Vec<Header>,
    object: Object,
    /// The number of the phase in the block, from 0.
    turn: usize,
}

impl Site {
    fn is_beside(&self, other: &Self) -> bool {
        self.object == other.object && self.around == other.around
    }
}

/// A copy in a program.
#[derive(Debug)]
struct Copied {
    site: Site,
    location: Location,
    /// Whether it certainly belongs to this phase, if the block has several.
    certain: bool,
    /// The bytes up to where the next tensor copy begins ([`Begins::room`]). The outer `None` means
    /// that accesses are not followed.
    room: Option<Option<i128>>,
}

/// What the blocks of one program expect and copy, in the order of the program.
#[derive(Debug, Default)]
struct Uses {
    expected: Vec<(Site, Number)>,
    copies: Vec<Copied>,
    /// Deliveries to the same mbarriers whose bytes are known.
    known: Vec<(Site, Number)>,
    /// Blocks in which it does not matter which copies belong to which phase: see
    /// [`Course::is_even`].
    even: Vec<Site>,
}

impl Uses {
    fn sites(&mut self) -> impl Iterator<Item = &mut Site> {
        let expected = self.expected.iter_mut().map(|(site, _)| site);
        let known = self.known.iter_mut().map(|(site, _)| site);
        let copies = self.copies.iter_mut().map(|copy| &mut copy.site);
        expected.chain(known).chain(copies)
    }

    /// The copies of a phase.
    fn of(&self, site: &Site) -> impl Iterator<Item = &Copied> {
        self.copies.iter().filter(move |other| other.site == *site)
    }

    /// Whether several copies fill one phase, and it matters which bytes of shared memory each
    /// writes.
    fn shares_room(&self) -> bool {
        let mut copies = self.copies.iter();
        copies.any(|copy| copy.room.is_some() && self.of(&copy.site).count() > 1)
    }

    fn delivers(&self, to: &Site) -> bool {
        let mut known = self.known.iter();
        self.copies.iter().any(|copy| copy.site == *to) || known.any(|(site, _)| site == to)
    }
}

/// What a block has done with one mbarrier so far.
#[derive(Debug, Default)]
struct Course {
    turn: usize,
    expects: bool,
    copies: bool,
    /// How often the block had waited when it last copied.
    waits: usize,
    /// Whether it has waited for this mbarrier since it last expected bytes.
    passed: bool,
    /// How many copies it has issued since it last expected bytes.
    begun: i128,
    /// For each statement that expects bytes: how many copies stand between the one before and it,
    /// and how many bytes it expects.
    runs: Vec<(i128, Option<i128>)>,
    /// Whether copies cannot take each other's place: the bytes of one are known, or it matters which
    /// bytes it writes. Also whether a copy, a delivery or an expectation at this mbarrier stands
    /// inside a loop or branch of the block.
    unlike: bool,
}

impl Course {
    /// Notes that bytes are expected. This begins a new phase if the block has copied since it last
    /// expected bytes.
    fn expect(&mut self, bytes: &Number) {
        self.turn += usize::from(self.expects && self.copies);
        (self.expects, self.copies, self.passed) = (true, false, false);
        self.runs.push((self.begun, bytes.as_constant()));
        self.begun = 0;
    }

    /// Whether it does not matter which copies belong to which phase.
    ///
    /// It does not matter if all of this holds:
    ///
    /// - equally many copies stand in front of each statement that expects bytes, and none behind
    ///   the last one;
    /// - all these statements expect the same number of bytes, and the copies divide it evenly;
    /// - copies can take each other's place.
    ///
    /// Then all shares are equal: whichever copies land first, that many complete a phase, and
    /// fewer do not.
    fn is_even(&self) -> bool {
        let Some((copies, Some(bytes))) = self.runs.first() else {
            return false;
        };
        let even = self.runs.iter().all(|run| *run == (*copies, Some(*bytes)));
        even && *copies > 0 && bytes % copies == 0 && self.begun == 0 && !self.unlike
    }

    /// Notes a copy that the block makes after so many waits. Returns whether its phase is certain.
    fn copy(&mut self, waits: usize) -> bool {
        let waited = self.copies && waits > self.waits;
        if !self.expects {
            // Another CTA expects the bytes, so only a wait separates phases.
            self.turn += usize::from(waited);
        }
        (self.copies, self.waits) = (true, waits);
        self.begun += 1;
        !self.expects || !waited && !self.passed
    }
}

/// Fills in the bytes of copies in the programs of all warps of a cluster. Returns the assumptions
/// on which they rest.
///
/// For synchronization it does not matter how the bytes are divided. Each share is positive, so a
/// phase completes when all of its copies have landed, and not before.
pub fn fill(
    kernel: &Kernel,
    programs: &mut [&mut Vec<Line>],
    inputs: &Inputs,
) -> Result<Vec<&'static str>, Obstacle> {
    let first = fill_with(kernel, programs, inputs, false);
    if first.is_ok() || programs.iter().any(|lines| check(lines).is_err()) {
        return first;
    }
    fill_with(kernel, programs, inputs, true).or(first)
}

/// `negates`: whether the side behind `else` is under the negated condition.
fn fill_with(
    kernel: &Kernel,
    programs: &mut [&mut Vec<Line>],
    inputs: &Inputs,
    negates: bool,
) -> Result<Vec<&'static str>, Obstacle> {
    let begins = Begins::new(kernel, programs, inputs);
    let mut all = Vec::new();
    for program in programs.iter() {
        let mut numbered = (*program).clone();
        renumber(&mut numbered);
        let mut uses = Uses::default();
        let counts = counts(&numbered);
        let room = |place: &Object| {
            let places = places(&place.offset, &|atomic| inputs.range_of(atomic, &counts))?;
            begins.as_ref()?.room(home(kernel, place), &places)
        };
        collect(&numbered, &mut Vec::new(), (&room, negates), &mut uses);
        all.push(uses);
    }
    settle_turns(&mut all)?;
    let shares = shares(&all)?;
    all_delivered(&all)?;
    let mut assumed = Vec::new();
    if shares.iter().any(|shares| !shares.is_empty()) {
        assumed.push(ASSUMPTION);
    }
    if all.iter().any(Uses::shares_room) {
        assumed.push(SIDE_BY_SIDE);
    }
    for (lines, shares) in programs.iter_mut().zip(shares) {
        write(lines, &mut shares.into_iter());
    }
    Ok(assumed)
}

/// Refuses a copy if the block has several phases, and it matters and is not certain to which one
/// the copy belongs. A block with one phase gets the turn 0.
fn settle_turns(all: &mut [Uses]) -> Result<(), Obstacle> {
    let expected = all.iter().flat_map(|uses| &uses.expected);
    let later = expected.filter(|(site, _)| site.turn > 0);
    let several: Vec<Site> = later.map(|(site, _)| site.clone()).collect();
    // One program alone uses the mbarrier here, and it does not matter to which phase a copy
    // belongs.
    let is_even = |site: &Site| {
        let uses = |uses: &&Uses| {
            let expected = uses.expected.iter().map(|(site, _)| site);
            let mut sites = expected.chain(uses.copies.iter().map(|copy| &copy.site));
            sites.any(|other| other.is_beside(site))
        };
        let mut involved = all.iter().filter(uses);
        let first = involved.next();
        let even = first.is_some_and(|uses| uses.even.iter().any(|other| other.is_beside(site)));
        even && involved.next().is_none()
    };
    let several: Vec<Site> = several.into_iter().filter(|site| !is_even(site)).collect();
    let has_several = |site: &Site| several.iter().any(|other| other.is_beside(site));
    for copy in all.iter().flat_map(|uses| &uses.copies) {
        if !has_several(&copy.site) {
            continue;
        }
        let expected = all.iter().flat_map(|uses| &uses.expected);
        let mut beside = expected.filter(|(site, _)| site.is_beside(&copy.site));
        let delivered = |site: &Site| all.iter().any(|uses| uses.delivers(site));
        if !copy.certain || !beside.all(|(site, _)| delivered(site)) {
            return Err(refuse(UNCERTAIN, &copy.location));
        }
    }
    for site in all.iter_mut().flat_map(Uses::sites) {
        if !has_several(site) {
            site.turn = 0;
        }
    }
    Ok(())
}

/// Refuses a copy if bytes are expected at its mbarrier in a block that delivers none there. The copy may belong to that phase.
fn all_delivered(all: &[Uses]) -> Result<(), Obstacle> {
    let delivered = |site: &Site| all.iter().any(|uses| uses.delivers(site));
    for copy in all.iter().flat_map(|uses| &uses.copies) {
        let expected = all.iter().flat_map(|uses| &uses.expected);
        let mut here = expected.filter(|(site, _)| site.object == copy.site.object);
        if here.any(|(site, _)| !delivered(site)) {
            return Err(refuse(UNCERTAIN, &copy.location));
        }
    }
    Ok(())
}

/// The bytes of each copy of each program, in the order of the copies.
fn shares(all: &[Uses]) -> Result<Vec<Vec<i128>>, Obstacle> {
    let of_program = |program: usize| {
        let copies = all[program].copies.iter().enumerate();
        let shares = copies.map(|(number, copy)| {
            share(all, program, number, &copy.site).ok_or_else(|| refuse(UNKNOWN, &copy.location))
        });
        shares.collect()
    };
    (0..all.len()).map(of_program).collect()
}

fn collect(
    lines: &[Line],
    around: &mut Vec<Header>,
    (room, negates): (Room<'_>, bool),
    uses: &mut Uses,
) {
    let mut inside = |header: Header, block: &[Line], uses: &mut Uses| {
        around.push(header);
        collect(block, around, (room, negates), uses);
        around.pop();
    };
    for line in lines {
        match line {
            Line::For {
                index, count, body, ..
            } => {
                let (index, count) = (*index, count.clone());
                inside(Header::For { index, count }, body, uses);
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                inside(Header::Then(condition.clone()), then, uses);
                let negated = match negates {
                    true => Header::otherwise(condition),
                    false => Header::Otherwise(condition.clone()),
                };
                inside(negated, otherwise, uses);
            }
            _ => {}
        }
    }
    let mut courses: BTreeMap<&Object, Course> = BTreeMap::new();
    let mut waits = 0;
    let mut before = None;
    for line in lines {
        let writes = before.and_then(mapped).map(|(place, _)| room(place));
        before = Some(line);
        let outer = line;
        every_line(std::slice::from_ref(line), &mut |line| match line {
            Line::Action {
                action: Action::Wait { object, .. } | Action::WaitOwn { object, .. },
                ..
            } => {
                waits += 1;
                courses.entry(object).or_default().passed = true;
            }
            Line::Action {
                action: Action::Sync { .. } | Action::ClusterWait,
                ..
            } => waits += 1,
            // An action inside a loop or branch of this block.
            Line::Action {
                action:
                    Action::Expect { object, .. }
                    | Action::ArriveExpect { object, .. }
                    | Action::Copy { object, .. }
                    | Action::Complete { object, .. },
                ..
            } if !std::ptr::eq(line, outer) => {
                courses.entry(object).or_default().unlike = true;
            }
            _ => {}
        });
        let Line::Action { action, location } = line else {
            continue;
        };
        let site = |object: &Object, course: &Course| Site {
            around: around.clone(),
            object: object.clone(),
            turn: course.turn,
        };
        match action {
            Action::Expect { object, bytes } | Action::ArriveExpect { object, bytes } => {
                let course = courses.entry(object).or_default();
                course.expect(bytes);
                uses.expected.push((site(object, course), bytes.clone()));
            }
            Action::Copy {
                object,
                bytes: Some(bytes),
            }
            | Action::Complete { object, bytes } => {
                let course = courses.entry(object).or_default();
                course.copy(waits);
                course.unlike = true;
                uses.known.push((site(object, course), bytes.clone()));
            }
            Action::Copy {
                object,
                bytes: None,
            } => {
                let course = courses.entry(object).or_default();
                let certain = course.copy(waits);
                course.unlike |= writes.is_some();
                uses.copies.push(Copied {
                    site: site(object, course),
                    location: location.clone(),
                    certain,
                    room: writes,
                });
            }
            _ => {}
        }
    }
    let even = courses.into_iter().filter(|(_, course)| course.is_even());
    uses.even.extend(even.map(|(object, _)| Site {
        around: around.clone(),
        object: object.clone(),
        turn: 0,
    }));
}

/// The bytes of the copy with this number in a program.
fn share(all: &[Uses], program: usize, number: usize, site: &Site) -> Option<i128> {
    let expects = |uses: &Uses| uses.expected.iter().any(|(other, _)| other == site);
    let copies = |uses: &Uses| {
        uses.copies
            .iter()
            .filter(|other| other.site == *site)
            .count()
    };
    let involved = all.iter().filter(|uses| copies(uses) > 0);
    // If all programs that expect bytes copy, and all that copy expect bytes, each divides its own
    // bytes among its own copies.
    let only_copiers = !all.iter().any(|uses| expects(uses) && copies(uses) == 0);
    let alone = only_copiers && involved.clone().all(expects);
    let own = &all[program];
    let mut total: i128 = 0;
    let counted = all.iter().filter(|uses| !alone || std::ptr::eq(*uses, own));
    for uses in counted {
        for (_, bytes) in uses.expected.iter().filter(|(other, _)| other == site) {
            total = total.checked_add(bytes.as_constant()?)?;
        }
        for (_, bytes) in uses.known.iter().filter(|(other, _)| other == site) {
            total = total.checked_sub(bytes.as_constant()?)?;
        }
    }
    let count = match alone {
        true => copies(own),
        false => involved.map(copies).sum(),
    };
    let count = i128::try_from(count).ok()?;
    let first_of = |uses: &Uses| uses.copies.iter().position(|other| other.site == *site);
    let first = first_of(own) == Some(number)
        && (alone || all[..program].iter().all(|uses| copies(uses) == 0));
    if all[program].copies[number].room.is_some() {
        // It matters which bytes of shared memory this copy writes.
        let rooms: Option<Vec<Option<i128>>> = own.of(site).map(|copy| copy.room).collect();
        let at = own.copies[..number]
            .iter()
            .filter(|other| other.site == *site)
            .count();
        let only = alone
            || all
                .iter()
                .all(|uses| std::ptr::eq(uses, own) || copies(uses) == 0);
        return boxes::shares(total, &rooms?)
            .filter(|_| only)
            .map(|shares| shares[at]);
    }
    // The first copy takes the remainder of the division.
    let share = total / count + if first { total % count } else { 0 };
    (share > 0).then_some(share)
}

/// Writes the bytes into the copies, in the order in which the copies were collected.
fn write(lines: &mut [Line], shares: &mut impl Iterator<Item = i128>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        write(block, shares);
    }
    for at in 0..lines.len() {
        let (before, from) = lines.split_at_mut(at);
        if let Some(Line::Action {
            action: Action::Copy { bytes, .. },
            ..
        }) = from.first_mut()
            && bytes.is_none()
        {
            let share = shares.next();
            *bytes = share.map(Number::constant);
            if let Some(line) = before.last_mut()
                && mapped(line).is_some()
                && let Line::Action {
                    action: Action::Access { bytes, .. },
                    ..
                } = line
                && let Some(share) = share
            {
                *bytes = Rc::new([(0, share)]);
            }
        }
    }
}

fn refuse(reason: &str, location: &Location) -> Obstacle {
    Obstacle::new(reason, location.clone())
}
