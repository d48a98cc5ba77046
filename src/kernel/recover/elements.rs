//! Divides bytes of shared memory into elements of buffers.
//!
//! For example, a copy writes bytes 0 to 255 of a variable, and a warp reads bytes 128 to 255. The variable is cut at
//! 128 into two elements. The copy touches both, and the warp the second one. In general, a variable is cut wherever
//! an access begins or ends, and the pieces that the same accesses touch are one element. So two accesses have an
//! element in common exactly if they have a byte in common.
//!
//! The place of an access may change, for example with the stage of a ring. Then its places are `start + stride * q`,
//! where `q` is a number of the protocol. The variable is divided into *slots*. Their size is the greatest number
//! that divides the distances between the places of each access. So an access touches the same bytes of a slot at
//! each of its places. The same piece of all slots is one buffer. Its index is computed from `q` and a constant:
//!
//! ```text
//! address = base + stride * slot + (a byte of the piece),   slot = (offset - start) / stride + constant
//! ```

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::interpret::Access;
use crate::ir::Kernel;
use crate::ir::Location;
use crate::ir::VariableId;
use crate::recover::buffer::Buffer;
use crate::recover::buffer::Element;
use crate::recover::family::SIZE;
use crate::recover::family::each;
use crate::recover::family::object_of;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::names::own;
use crate::recover::number::Number;
use crate::recover::number::greatest_divisor;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::LIFE;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line_mut;
use crate::recover::tree::Obstacle;

/// The most buffers of a text, elements of one access, and slots.
const MOST_BUFFERS: usize = 192;
const MOST_ELEMENTS: usize = 96;
const MOST_SLOTS: i128 = 4096;

/// On every device, shared memory has fewer bytes than this.
const SHARED: i128 = 1 << 18;

/// An access and its possible places. Accesses are listed in the order of roles and lines.
struct Reached {
    rank: u32,
    variable: VariableId,
    offset: Number,
    places: BTreeSet<i128>,
    bytes: Rc<[(i128, i128)]>,
    location: Location,
}

impl Reached {
    fn first(&self) -> i128 {
        self.places.first().copied().unwrap_or(0)
    }

    /// The range from the first byte that it may touch to the last one.
    fn hull(&self) -> (i128, i128) {
        let last = self.places.last().copied().unwrap_or(0);
        let from = self.bytes.first().map_or(0, |(from, _)| *from);
        let to = self.bytes.last().map_or(0, |(_, to)| *to);
        (self.first() + from, last + to)
    }

    fn refuse<T>(&self, reason: &str) -> Result<T, Obstacle> {
        Err(Obstacle::new(reason, self.location.clone()))
    }
}

/// Replaces bytes by elements. Reads directly behind each other become one statement, and so do
/// writes: nobody else can observe their order.
pub fn lay_out(kernel: &Kernel, roles: &mut [Role], inputs: &Inputs) -> Result<(), Obstacle> {
    let reached = reached(kernel, roles, inputs)?;
    apart_from_mbarriers(kernel, roles, inputs, &reached)?;
    let mut elements: Vec<Vec<Element>> = vec![Vec::new(); reached.len()];
    let mut names = BTreeSet::new();
    for group in groups(&reached) {
        arrange(kernel, &reached, &group, &mut names, &mut elements)?;
    }
    if names.len() > MOST_BUFFERS {
        return Err(Obstacle::new(
            "shared memory is divided into too many pieces",
            Location::default(),
        ));
    }
    let mut elements = elements.into_iter();
    for role in roles {
        every_line_mut(&mut role.lines, &mut |line| {
            if let Line::Action { action, .. } = line
                && let Action::Access { access, .. } = action
            {
                *action = Action::Touch {
                    elements: elements.next().unwrap_or_default(),
                    access: *access,
                };
            }
        });
        join(&mut role.lines);
    }
    Ok(())
}

/// The accesses of all roles.
fn reached(kernel: &Kernel, roles: &[Role], inputs: &Inputs) -> Result<Vec<Reached>, Obstacle> {
    let mut all = Vec::new();
    let mut failure = None;
    for role in roles {
        let counts = counts(&role.lines);
        each(&role.lines, &mut |action, location| {
            let Action::Access { place, bytes, .. } = action else {
                return;
            };
            let Object {
                rank,
                variable,
                offset,
            } = place;
            let refused = |reason: &str| Obstacle::new(reason, location.clone());
            let Some(places) = places(offset, &|atomic| inputs.range_of(atomic, &counts)) else {
                failure.get_or_insert(refused(
                    "which bytes of shared memory this may be is not known",
                ));
                return;
            };
            let one = Reached {
                rank: *rank,
                variable: dynamic(kernel, *variable),
                offset: offset.clone(),
                places,
                bytes: bytes.clone(),
                location: location.clone(),
            };
            let (from, to) = one.hull();
            let size = kernel.variables[variable.0 as usize].size;
            let size = size.map_or(SHARED, i128::from);
            if from < 0 || to > size {
                failure.get_or_insert(refused("this may lie outside of its variable"));
            }
            all.push(one);
        });
    }
    failure.map_or(Ok(all), Err)
}

/// Refuses accesses of data to bytes of mbarriers. What mbarrier instructions do to these bytes is
/// no access in the text.
fn apart_from_mbarriers(
    kernel: &Kernel,
    roles: &[Role],
    inputs: &Inputs,
    reached: &[Reached],
) -> Result<(), Obstacle> {
    let mut mbarriers: BTreeSet<(u32, VariableId, i128)> = BTreeSet::new();
    let mut failure = None;
    for role in roles {
        let counts = counts(&role.lines);
        each(&role.lines, &mut |action, location| {
            let Some(object) = object_of(action) else {
                return;
            };
            let Some(places) = places(&object.offset, &|atomic| inputs.range_of(atomic, &counts))
            else {
                failure.get_or_insert(Obstacle::new(
                    "which mbarriers this may mean is not known",
                    location.clone(),
                ));
                return;
            };
            let variable = dynamic(kernel, object.variable);
            // Further lifetimes have places of their own in the roles: the real place plus a multiple of `LIFE`.
            let places = places.into_iter().map(|place| place.rem_euclid(LIFE));
            mbarriers.extend(places.map(|place| (object.rank, variable, place)));
        });
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    for one in reached {
        let hits = |place: &i128| {
            one.bytes.iter().any(|(from, to)| {
                let (from, to) = (place + from, place + to);
                let first = (one.rank, one.variable, from - SIZE + 1);
                let last = (one.rank, one.variable, to);
                mbarriers.range(first..last).next().is_some()
            })
        };
        if one.places.iter().any(hits) {
            return one.refuse("data is read or written where an mbarrier lies");
        }
    }
    Ok(())
}

/// All variables whose size the launch decides begin at one place. The first of them stands for
/// all.
pub fn dynamic(kernel: &Kernel, variable: VariableId) -> VariableId {
    let sized = |at: usize| {
        kernel
            .variables
            .get(at)
            .is_none_or(|one| one.size.is_some())
    };
    if sized(variable.0 as usize) {
        return variable;
    }
    let first = (0..kernel.variables.len()).find(|at| {
        let one = &kernel.variables[*at];
        let here = &kernel.variables[variable.0 as usize];
        one.size.is_none() && one.space == here.space
    });
    let first = first.and_then(|first| u32::try_from(first).ok());
    first.map_or(variable, VariableId)
}

/// Groups accesses that may have bytes in common, directly or through others.
fn groups(reached: &[Reached]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..reached.len()).collect();
    order.sort_by_key(|at| {
        (
            reached[*at].rank,
            reached[*at].variable,
            reached[*at].hull(),
        )
    });
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut end: Option<(u32, VariableId, i128)> = None;
    for at in order {
        let one = &reached[at];
        let (from, to) = one.hull();
        match (&mut end, groups.last_mut()) {
            (Some((rank, variable, last)), Some(group))
                if (*rank, *variable) == (one.rank, one.variable) && from < *last =>
            {
                group.push(at);
                *last = to.max(*last);
            }
            _ => {
                groups.push(vec![at]);
                end = Some((one.rank, one.variable, to));
            }
        }
    }
    groups
}

/// What an access touches, slot by slot: how many slots behind the one where it begins, and which
/// bytes of that slot.
type Shape = Vec<(i128, (i128, i128))>;

/// Lays out the bytes of a group, and gives the elements of its accesses.
///
/// All places of an access are `start` modulo `stride`, so the quotient in the index is exact. Each
/// byte of the variable is in one piece of one slot. So different elements have no byte in common,
/// and the elements of an access are exactly its bytes. The comparison with runs of the kernel
/// checks the latter.
fn arrange(
    kernel: &Kernel,
    reached: &[Reached],
    group: &[usize],
    names: &mut BTreeSet<String>,
    elements: &mut [Vec<Element>],
) -> Result<(), Obstacle> {
    let Some(leader) = group.first().map(|at| &reached[*at]) else {
        return Ok(());
    };
    let hulls = group.iter().map(|at| reached[*at].hull());
    let base = hulls.clone().map(|(from, _)| from).min().unwrap_or(0);
    let end = hulls.map(|(_, to)| to).max().unwrap_or(0);
    let mut stride = 0;
    for at in group {
        let first = reached[*at].first();
        let apart = reached[*at].places.iter().map(|place| place - first);
        stride = apart.fold(stride, greatest_divisor);
    }
    // If no access changes its place, there is one slot.
    let stride = if stride == 0 { end - base } else { stride };
    let slots = (end - base + stride - 1) / stride;
    if slots > MOST_SLOTS {
        return leader.refuse("shared memory is divided into too many pieces");
    }
    let shapes: Vec<Shape> = group
        .iter()
        .map(|at| {
            let within = (reached[*at].first() - base).rem_euclid(stride);
            shape(&reached[*at].bytes, within, stride)
        })
        .collect();
    let distinct: BTreeSet<&Shape> = shapes.iter().collect();
    let mut buffers = Vec::new();
    for (touching, ranges) in pieces(&distinct) {
        let (first, _) = ranges[0];
        let mut name = format!(
            "smem_{}",
            own(&kernel.variables[leader.variable.0 as usize].name)
        );
        if leader.rank > 0 {
            name = format!("{name}_cta{}", leader.rank);
        }
        name = format!("{name}_{}", base + first);
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let buffer = Rc::new(Buffer {
            name,
            rank: leader.rank,
            variable: leader.variable,
            base,
            stride,
            slots,
            ranges,
        });
        buffers.push((touching, buffer));
    }
    let number_of: BTreeMap<&Shape, usize> = distinct
        .iter()
        .enumerate()
        .map(|(at, shape)| (*shape, at))
        .collect();
    for (at, own) in group.iter().zip(&shapes) {
        let one = &reached[*at];
        let number = number_of[own];
        // By how many strides the place has moved, and the slot of the first place.
        let moved = one
            .offset
            .minus(&Number::constant(one.first()))
            .and_then(|moved| moved.divided(stride));
        let start = (one.first() - base).div_euclid(stride);
        let mut found = Vec::new();
        for (touching, buffer) in &buffers {
            for (_, further) in touching.iter().filter(|(shape, _)| *shape == number) {
                let index = moved
                    .as_ref()
                    .and_then(|moved| moved.plus(&Number::constant(start + further)));
                let Some(index) = index else {
                    return one.refuse("a number is too large");
                };
                found.push(Element {
                    buffer: buffer.clone(),
                    index,
                    bytes: buffer.size(),
                    array_index: None,
                });
            }
        }
        if found.len() > MOST_ELEMENTS {
            return one.refuse("this touches too many pieces of shared memory");
        }
        elements[*at] = found;
    }
    Ok(())
}

/// Cuts bytes at the borders of slots. They begin at the byte `within` of a slot.
fn shape(bytes: &[(i128, i128)], within: i128, stride: i128) -> Shape {
    let mut shape = Vec::new();
    for (from, to) in bytes {
        let (mut from, to) = (from + within, to + within);
        while from < to {
            let slot = from.div_euclid(stride);
            let end = to.min((slot + 1) * stride);
            shape.push((slot, (from - slot * stride, end - slot * stride)));
            from = end;
        }
    }
    shape
}

/// Which accesses touch a piece, and how many slots behind the one where the access begins.
type Touching = BTreeSet<(usize, i128)>;

/// The pieces of a slot. A piece has the bytes that the same accesses touch.
fn pieces(shapes: &BTreeSet<&Shape>) -> BTreeMap<Touching, Vec<(i128, i128)>> {
    let ranges = || shapes.iter().flat_map(|shape| shape.iter());
    let mut borders: Vec<i128> = ranges().flat_map(|(_, (from, to))| [*from, *to]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut touching: Vec<Touching> = vec![BTreeSet::new(); borders.len()];
    for (number, shape) in shapes.iter().enumerate() {
        for (slot, (from, to)) in shape.iter() {
            let first = borders.partition_point(|border| border < from);
            for (border, touching) in borders.iter().zip(&mut touching).skip(first) {
                if border >= to {
                    break;
                }
                touching.insert((number, *slot));
            }
        }
    }
    let mut pieces: BTreeMap<Touching, Vec<(i128, i128)>> = BTreeMap::new();
    for (pair, touching) in borders.windows(2).zip(touching) {
        if !touching.is_empty() {
            let ranges = pieces.entry(touching).or_default();
            match ranges.last_mut() {
                Some((_, to)) if *to == pair[0] => *to = pair[1],
                _ => ranges.push((pair[0], pair[1])),
            }
        }
    }
    pieces
}

/// Joins reads directly behind each other, and writes directly behind each other.
fn join(lines: &mut Vec<Line>) {
    for block in lines.iter_mut().flat_map(Line::blocks_mut) {
        join(block);
    }
    let mut joined: Vec<Line> = Vec::new();
    for line in lines.drain(..) {
        if let Some(Line::Action {
            action: Action::Touch { elements, access },
            ..
        }) = joined.last_mut()
            && matches!(access, Access::Read | Access::Write)
            && let Line::Action {
                action:
                    Action::Touch {
                        elements: more,
                        access: other,
                    },
                ..
            } = &line
            && access == other
        {
            for element in more {
                if !elements.contains(element) {
                    elements.push(element.clone());
                }
            }
            continue;
        }
        joined.push(line);
    }
    *lines = joined;
}
