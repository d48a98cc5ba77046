//! Finds the bytes of shared memory that tensor copies write and read. A kernel has only the place
//! where a copy begins. The number of bytes is in its tensor map, which the launch gives.
//!
//! - A copy that alone fills what its mbarrier expects writes as many bytes, without gaps.
//! - Of several copies that fill it together, each is assumed to write up to where the next tensor
//!   copy begins, be it of this stage or another. A copy behind which no other begins in its
//!   variable writes the rest. The sum has to be what is expected.
//! - A copy out of shared memory is assumed to read what threads have written. That is from where
//!   it begins to the end of the written bytes, or to where another tensor copy begins if that is
//!   less. The number of bytes has to be the same wherever the copy may begin.
//!
//! The assumptions are printed with the verdict.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::interpret::Access;
use crate::ir::Kernel;
use crate::ir::VariableId;
use crate::ir::joined;
use crate::recover::elements::dynamic;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::every_line_mut;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// The assumption about several copies that fill one mbarrier together.
pub const SIDE_BY_SIDE: &str = "tensor copies of one phase write up to where the next tensor copy begins, and the last one the rest";

/// The assumption about copies out of shared memory.
pub const TAKE: &str = "tensor copies out of shared memory take what threads have written, up to where the next begins";

/// A variable of shared memory in one CTA.
type Home = (u32, VariableId);

/// Where tensor copies begin, for each variable.
#[derive(Debug, Default)]
pub struct Begins {
    all: BTreeMap<Home, BTreeSet<i128>>,
}

impl Begins {
    /// The places of all tensor copies in the programs of a cluster. `None` if a place is not
    /// known.
    pub fn new(kernel: &Kernel, programs: &[&mut Vec<Line>], inputs: &Inputs) -> Option<Self> {
        let mut begins = Self::default();
        let mut is_known = true;
        for lines in programs {
            let counts = counts(lines);
            every_line(lines, &mut |line| {
                let Some((place, _)) = mapped(line) else {
                    return;
                };
                let range = |atomic: &_| inputs.range_of(atomic, &counts);
                match places(&place.offset, &range) {
                    Some(places) => {
                        let all = begins.all.entry(home(kernel, place)).or_default();
                        all.extend(places);
                    }
                    None => is_known = false,
                }
            });
        }
        is_known.then_some(begins)
    }

    /// The *room* of a copy that may begin at these places: the least distance from one of them to
    /// where the next tensor copy begins. `None` if none begins behind any of them.
    pub fn room(&self, home: Home, places: &BTreeSet<i128>) -> Option<i128> {
        let begins = self.all.get(&home)?;
        let room = |at: &i128| Some(begins.range(at + 1..).next()? - at);
        places.iter().filter_map(room).min()
    }
}

/// The variable that an access touches.
pub fn home(kernel: &Kernel, place: &Object) -> Home {
    (place.rank, dynamic(kernel, place.variable))
}

/// The place of a tensor copy whose bytes are not known yet, and how it accesses them.
pub fn mapped(line: &Line) -> Option<(&Object, Access)> {
    match line {
        Line::Action {
            action:
                Action::Access {
                    place,
                    bytes,
                    access,
                },
            ..
        } if bytes.is_empty() => Some((place, *access)),
        _ => None,
    }
}

/// Divides the expected bytes among copies that fill an mbarrier together. `rooms` has the room of
/// each copy. `None` if nothing is expected, or if the rooms of several copies do not add up to what is.
pub fn shares(expected: i128, rooms: &[Option<i128>]) -> Option<Vec<i128>> {
    // A single copy delivers everything that is expected here, whatever its room. If that is nothing, its bytes are
    // expected elsewhere, and how many they are is not known.
    if let [_] = rooms {
        return (expected > 0).then(|| vec![expected]);
    }
    let known: i128 = rooms.iter().flatten().sum();
    let rest = expected - known;
    let fits = match rooms.iter().filter(|room| room.is_none()).count() {
        0 => rest == 0,
        1 => rest > 0,
        _ => false,
    };
    fits.then(|| rooms.iter().map(|room| room.unwrap_or(rest)).collect())
}

/// Fills in which bytes tensor copies out of shared memory read. Returns whether there are such
/// copies.
pub fn take(
    kernel: &Kernel,
    programs: &mut [&mut Vec<Line>],
    inputs: &Inputs,
) -> Result<bool, Obstacle> {
    let Some(begins) = Begins::new(kernel, programs, inputs) else {
        return Ok(false);
    };
    let written = written(kernel, programs, inputs);
    let mut any = false;
    let mut failure = None;
    for lines in programs.iter_mut() {
        let counts = counts(lines);
        every_line_mut(lines, &mut |line| {
            let Some((place, Access::ReadLater)) = mapped(line) else {
                return;
            };
            any = true;
            let range = |atomic: &_| inputs.range_of(atomic, &counts);
            let home = home(kernel, place);
            let size = places(&place.offset, &range)
                .and_then(|places| taken(&begins, written.get(&home)?.as_ref()?, home, &places));
            let Line::Action {
                action: Action::Access { bytes, .. },
                location,
            } = line
            else {
                return;
            };
            match size {
                Some(size) => *bytes = Rc::new([(0, size)]),
                None => {
                    failure.get_or_insert(location.clone());
                }
            }
        });
    }
    match failure {
        None => Ok(any),
        Some(location) => refuse(
            "how many bytes this copy reads is not known: only the tensor map says it, and what threads have written does not tell",
            &location,
        ),
    }
}

/// How many bytes a copy reads, if that is the same wherever it begins.
fn taken(
    begins: &Begins,
    written: &[(i128, i128)],
    home: Home,
    places: &BTreeSet<i128>,
) -> Option<i128> {
    let mut sizes = BTreeSet::new();
    for at in places {
        let (_, end) = written.iter().find(|(from, to)| from <= at && at < to)?;
        let room = begins.room(home, &BTreeSet::from([*at]));
        sizes.insert(room.map_or(end - at, |room| room.min(end - at)));
    }
    match sizes.len() {
        1 => sizes.pop_first(),
        _ => None,
    }
}

/// The bytes that threads may write, as sorted and joined ranges. `None` for a variable if one of
/// the places is not known.
fn written(
    kernel: &Kernel,
    programs: &[&mut Vec<Line>],
    inputs: &Inputs,
) -> BTreeMap<Home, Option<Vec<(i128, i128)>>> {
    let mut all: BTreeMap<Home, Option<Vec<(i128, i128)>>> = BTreeMap::new();
    for lines in programs {
        let counts = counts(lines);
        every_line(lines, &mut |line| {
            let Line::Action {
                action:
                    Action::Access {
                        place,
                        bytes,
                        access: Access::Write,
                    },
                ..
            } = line
            else {
                return;
            };
            let ranges = all
                .entry(home(kernel, place))
                .or_insert_with(|| Some(Vec::new()));
            let range = |atomic: &_| inputs.range_of(atomic, &counts);
            match (places(&place.offset, &range), ranges.as_mut()) {
                (Some(places), Some(ranges)) => {
                    for at in places {
                        ranges.extend(bytes.iter().map(|(from, to)| (at + from, at + to)));
                    }
                }
                _ => *ranges = None,
            }
        });
    }
    for ranges in all.values_mut().flatten() {
        *ranges = joined(std::mem::take(ranges));
    }
    all
}
