//! Divides the mbarriers of a kernel into arrays.
//!
//! For example, `wait [bar + 8 * (i % 4)]` uses four places in shared memory, one for each `i % 4`.
//! They are the elements of one array in the text. In general, all places that one statement may
//! use are in one array, so arrays with a place in common become one.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::number::greatest_divisor;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line;
use crate::recover::tree::Obstacle;

/// The bytes of an mbarrier, of which its address is a multiple.
pub const SIZE: i128 = 8;

pub const MISALIGNED: &str = "an mbarrier lies at a multiple of 8 bytes";

/// The most places that one statement may use.
const MAX_PLACES: usize = 4096;

/// An array of mbarriers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    pub rank: u32,
    pub variable: VariableId,
    /// Where the first mbarrier begins in the variable, in bytes.
    pub base: i128,
    /// The distance from one mbarrier to the next, in bytes.
    pub stride: i128,
    pub elements: i128,
    /// How many arrivals complete a phase.
    pub arrivals: i128,
    /// How many arrivals of the kernel make one arrival of the protocol. It divides `arrivals` and
    /// every arrival. For example, it is 32 if only whole warps arrive.
    pub unit: i128,
    /// Whether the declaration does not initialise the array at the beginning.
    pub explicit: bool,
}

impl Family {
    /// The index of an object.
    pub fn index(&self, object: &Object) -> Option<Number> {
        object
            .offset
            .minus(&Number::constant(self.base))?
            .divided(self.stride)
    }
}

#[derive(Debug, Default)]
pub struct Families {
    pub all: Vec<Family>,
    of_place: BTreeMap<(u32, VariableId, i128), usize>,
}

impl Families {
    /// The array of an object.
    pub fn of(&self, object: &Object, range: &dyn Fn(&Atomic) -> Option<Range>) -> Option<usize> {
        let places = places(&object.offset, range)?;
        self.of_place
            .get(&(object.rank, object.variable, *places.first()?))
            .copied()
    }
}

/// All the values that an offset may have.
pub fn places(offset: &Number, range: &dyn Fn(&Atomic) -> Option<Range>) -> Option<BTreeSet<i128>> {
    let mut all = BTreeSet::from([offset.constant]);
    for (atomic, coefficient) in &offset.parts {
        let (low, high) = Number::of(atomic.clone()).range(range)?;
        if high.checked_sub(low)? >= i128::try_from(MAX_PLACES).ok()? {
            return None;
        }
        let mut next = BTreeSet::new();
        for place in &all {
            for value in low..=high {
                next.insert(place.checked_add(value.checked_mul(*coefficient)?)?);
            }
        }
        if next.len() > MAX_PLACES {
            return None;
        }
        all = next;
    }
    Some(all)
}

/// The mbarrier that an action uses, if there is one.
pub fn object_of(action: &Action) -> Option<&Object> {
    match action {
        Action::Init { object, .. }
        | Action::Wait { object, .. }
        | Action::WaitOwn { object, .. }
        | Action::Arrive { object, .. }
        | Action::ArriveExpect { object, .. }
        | Action::Expect { object, .. }
        | Action::Complete { object, .. }
        | Action::Copy { object, .. }
        | Action::Commit { object, .. } => Some(object),
        _ => None,
    }
}

/// The mbarrier of an action, to be changed. Marks have one, too, such as that for the end of a
/// lifetime.
pub fn object_mut(action: &mut Action) -> Option<&mut Object> {
    match action {
        Action::Init { object, .. }
        | Action::Invalidate { object }
        | Action::Wait { object, .. }
        | Action::WaitOwn { object, .. }
        | Action::Arrive { object, .. }
        | Action::ArriveExpect { object, .. }
        | Action::Expect { object, .. }
        | Action::Complete { object, .. }
        | Action::Copy { object, .. }
        | Action::Commit { object, .. }
        | Action::Numbered { object, .. }
        | Action::Round { object, .. }
        | Action::Tried { object } => Some(object),
        _ => None,
    }
}

/// Calls `with` for every action.
pub fn each<'l>(lines: &'l [Line], with: &mut dyn FnMut(&'l Action, &'l Location)) {
    every_line(lines, &mut |line| {
        if let Line::Action { action, location } = line {
            with(action, location);
        }
    });
}

/// Finds the arrays.
///
/// `declared` gives the expected arrivals of those variables whose mbarriers are initialised from
/// the launch on.
pub fn families(
    roles: &[Role],
    declared: &dyn Fn(VariableId) -> Option<u32>,
    range_in: &dyn Fn(usize, &Atomic) -> Option<Range>,
) -> Result<Families, Obstacle> {
    let refuse = |reason: &str, location: &Location| Obstacle::new(reason, location.clone());
    type Place = (u32, VariableId, i128);
    let mut groups: Vec<BTreeSet<Place>> = Vec::new();
    let mut inits: BTreeMap<Place, BTreeSet<i128>> = BTreeMap::new();
    let mut first_use: BTreeMap<Place, Location> = BTreeMap::new();
    let mut failure = None;
    for (number, role) in roles.iter().enumerate() {
        each(&role.lines, &mut |action, location| {
            let Some(object) = object_of(action) else {
                return;
            };
            let Some(found) = places(&object.offset, &|atomic| range_in(number, atomic)) else {
                failure.get_or_insert_with(|| {
                    refuse("which mbarriers this may mean is not known", location)
                });
                return;
            };
            let found: BTreeSet<Place> = found
                .into_iter()
                .map(|offset| (object.rank, object.variable, offset))
                .collect();
            if let Action::Init { count, .. } = action {
                if found.iter().any(|(_, _, offset)| offset % SIZE != 0) {
                    failure.get_or_insert_with(|| refuse(MISALIGNED, location));
                }
                for place in &found {
                    inits.entry(*place).or_default().insert(*count);
                }
                if found.len() == 1 {
                    return;
                }
            }
            for place in &found {
                first_use.entry(*place).or_insert_with(|| location.clone());
            }
            let mut joined = found;
            groups.retain(|group| {
                let apart = group.is_disjoint(&joined);
                if !apart {
                    joined.extend(group.iter().copied());
                }
                apart
            });
            groups.push(joined);
        });
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    groups.sort();
    let mut families = Families::default();
    for group in groups {
        let Some(&(rank, variable, base)) = group.first() else {
            continue;
        };
        let location = first_use
            .get(&(rank, variable, base))
            .cloned()
            .unwrap_or_default();
        let offsets: Vec<i128> = group.iter().map(|(_, _, offset)| *offset).collect();
        let stride = offsets
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .reduce(greatest_divisor)
            .unwrap_or(SIZE);
        if base % SIZE != 0 || stride % SIZE != 0 {
            return Err(refuse(MISALIGNED, &location));
        }
        let last = offsets.last().copied().unwrap_or(base);
        let mut counts = BTreeSet::new();
        let mut explicit = false;
        for place in &group {
            match (inits.get(place), declared(place.1)) {
                (Some(found), None) => counts.extend(found.iter().copied()),
                (_, Some(arrivals)) => counts.extend([i128::from(arrivals)]),
                (None, None) => explicit = true,
            }
        }
        if counts.is_empty() {
            return Err(refuse(
                "an mbarrier is used that is never initialised",
                &location,
            ));
        }
        let (Some(arrivals), 1) = (counts.first(), counts.len()) else {
            return Err(refuse(
                "mbarriers that one statement may mean expect different numbers of arrivals",
                &location,
            ));
        };
        let number = families.all.len();
        for place in &group {
            families.of_place.insert(*place, number);
        }
        families.all.push(Family {
            rank,
            variable,
            base,
            stride,
            elements: (last - base) / stride + 1,
            arrivals: *arrivals,
            unit: 1,
            explicit,
        });
    }
    Ok(families)
}

/// Finds the unit of each array: the greatest number that divides its expected arrivals and the
/// count of every arrival at it.
pub fn count_in_units(
    families: &mut Families,
    roles: &[Role],
    range_in: &dyn Fn(usize, &Atomic) -> Option<Range>,
) {
    let mut units: Vec<i128> = families.all.iter().map(|family| family.arrivals).collect();
    for (number, role) in roles.iter().enumerate() {
        each(&role.lines, &mut |action, _| {
            let Some(object) = object_of(action) else {
                return;
            };
            let Some(family) = families.of(object, &|atomic| range_in(number, atomic)) else {
                return;
            };
            let arrives = match action {
                Action::Arrive { count, .. } => count.as_constant().unwrap_or(1),
                Action::Commit { count, .. } => *count,
                Action::ArriveExpect { .. } => 1,
                _ => return,
            };
            units[family] = greatest_divisor(units[family], arrives);
        });
    }
    for (family, unit) in families.all.iter_mut().zip(units) {
        family.unit = unit.max(1);
    }
}
