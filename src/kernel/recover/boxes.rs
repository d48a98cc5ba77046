//! Which bytes of shared memory tensor copies write and read: only their tensor maps say how many.
//!
//! A copy that is alone with the bytes that its mbarrier expects writes as many, one behind the other. Of several, it is taken for
//! granted, and printed, that each writes up to where the next tensor copy begins, in this stage or another. That has to be
//! together what is expected. Where one of them is the last in its variable, it writes the rest.
//!
//! Of a copy out of shared memory it is taken for granted, and printed, that it reads what threads have written, from where it
//! begins up to where that ends or another tensor copy begins. That has to be as much wherever the copy may begin.

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
use crate::recover::sketch::Action;
use crate::recover::sketch::Line;
use crate::recover::sketch::Object;
use crate::recover::sketch::counts;
use crate::recover::sketch::every_line;
use crate::recover::sketch::every_line_mut;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

/// What is taken for granted of several copies at one mbarrier.
pub const SIDE_BY_SIDE: &str = "tensor copies of one phase write up to where the next tensor copy begins, and the last one the rest";

/// What is taken for granted of copies out of shared memory.
pub const TAKE: &str = "tensor copies out of shared memory take what threads have written, up to where the next begins";

/// A variable of a CTA.
type Home = (u32, VariableId);

/// Where tensor copies begin.
#[derive(Debug, Default)]
pub struct Begins {
    all: BTreeMap<Home, BTreeSet<i128>>,
}

impl Begins {
    /// The places of all tensor copies of the programs of a cluster. Gives nothing where that is not known of one.
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

    /// How much room a copy has wherever it begins, before the next one; nothing where none begins behind it.
    pub fn room(&self, home: Home, places: &BTreeSet<i128>) -> Option<i128> {
        let begins = self.all.get(&home)?;
        let room = |at: &i128| Some(begins.range(at + 1..).next()? - at);
        places.iter().filter_map(room).min()
    }
}

/// The variable that an access is about.
pub fn home(kernel: &Kernel, place: &Object) -> Home {
    (place.rank, dynamic(kernel, place.variable))
}

/// Where a tensor copy begins whose bytes are not known, and what it does.
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

/// The shares of copies that fill an mbarrier together, by the room that each has. Nothing where that is not what is expected.
pub fn shares(expected: i128, rooms: &[Option<i128>]) -> Option<Vec<i128>> {
    // What is expected elsewhere may be none of these copies' bytes.
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

/// Says which bytes tensor copies out of shared memory read. Gives whether there are any.
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

/// How much a copy takes, if that is as much wherever it begins.
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

/// The bytes that threads may write, sorted and joined; nothing where a place is not known.
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
