//! Reduces the number of data elements of the text: joins pieces of shared memory where that
//! changes no race.
//!
//! ```text
//! warp 0: write a, write b     warp 1: read a     warp 2: read b
//! ```
//!
//! Here `a` and `b` may become one element. Warp 0 writes both, so its access conflicts with those
//! of both readers before and after. The two reads never conflict. In general, pieces become one
//! element only if any two accesses to it, one of them a write, have a piece in common, at the same
//! index. So two accesses conflict after the joining exactly if they did so before. Neither proofs
//! nor counterexamples change.
//!
//! A statement then has elements with bytes that it does not touch. So this runs after the
//! comparison with the kernel.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::interpret::Access;
use crate::recover::buffer::Buffer;
use crate::recover::buffer::Element;
use crate::recover::family::each;
use crate::recover::mbarrier_lifetimes::merge;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::elements_mut;
use crate::recover::role_ir::every_line_mut;

/// The pieces that some statement touches at one index, and whether it may write them.
type Touched = (BTreeSet<Rc<Buffer>>, bool);

/// Joins pieces, and then roles that are the same.
pub fn coarsen(roles: &mut Vec<Role>) {
    let mut touched: BTreeSet<Touched> = BTreeSet::new();
    let mut all: BTreeSet<Rc<Buffer>> = BTreeSet::new();
    for role in roles.iter() {
        each(&role.lines, &mut |action, _| {
            let Action::Touch { elements, access } = action else {
                return;
            };
            let mut at: BTreeMap<&Number, BTreeSet<Rc<Buffer>>> = BTreeMap::new();
            for element in elements {
                let pieces = at.entry(&element.index).or_default();
                pieces.insert(element.buffer.clone());
                all.insert(element.buffer.clone());
            }
            touched.extend(
                at.into_values()
                    .map(|pieces| (pieces, !matches!(access, Access::Read | Access::ReadLater))),
            );
        });
    }
    let mut classes: Vec<Vec<Rc<Buffer>>> = Vec::new();
    for buffer in all {
        let fits = classes.iter().position(|class| {
            class.first().is_some_and(|first| alike(first, &buffer))
                && joins(class, &buffer, &touched)
        });
        match fits {
            Some(class) => classes[class].push(buffer),
            None => classes.push(vec![buffer]),
        }
    }
    let joined: BTreeMap<Rc<Buffer>, Rc<Buffer>> = classes
        .into_iter()
        .flat_map(|class| {
            let one = one_of(&class);
            class
                .into_iter()
                .filter_map(move |buffer| Some((buffer, one.clone()?)))
        })
        .collect();
    for role in roles.iter_mut() {
        every_line_mut(&mut role.lines, &mut |line| {
            if let Some(elements) = elements_mut(line) {
                replace(elements, &joined);
            }
        });
    }
    merge(roles);
}

/// Whether buffers have the same slots.
fn alike(one: &Buffer, other: &Buffer) -> bool {
    let slots = |buffer: &Buffer| (buffer.rank, buffer.variable, buffer.base, buffer.stride);
    slots(one) == slots(other)
}

/// Whether a piece may become one element with those of a class.
fn joins(class: &[Rc<Buffer>], buffer: &Rc<Buffer>, touched: &BTreeSet<Touched>) -> bool {
    let of_class: Vec<&Touched> = touched
        .iter()
        .filter(|(pieces, _)| class.iter().any(|piece| pieces.contains(piece)))
        .collect();
    let mut of_piece = touched.iter().filter(|(pieces, _)| pieces.contains(buffer));
    of_piece.all(|(pieces, writes)| {
        of_class
            .iter()
            .all(|(others, write)| !(*writes || *write) || !pieces.is_disjoint(others))
    })
}

/// The buffer of all pieces of a class.
fn one_of(class: &[Rc<Buffer>]) -> Option<Rc<Buffer>> {
    let (first, rest) = class.split_first()?;
    let mut one = Buffer::clone(first);
    for buffer in rest {
        one.ranges.extend(buffer.ranges.iter().copied());
    }
    one.ranges.sort_unstable();
    Some(Rc::new(one))
}

/// Elements of the new buffers, each once, with the bytes of all its pieces that were touched.
fn replace(elements: &mut Vec<Element>, joined: &BTreeMap<Rc<Buffer>, Rc<Buffer>>) {
    let mut all: Vec<Element> = Vec::new();
    for mut element in elements.drain(..) {
        if let Some(one) = joined.get(&element.buffer) {
            element.buffer = one.clone();
        }
        let same = all
            .iter_mut()
            .find(|other| other.buffer == element.buffer && other.index == element.index);
        match same {
            Some(other) => other.bytes += element.bytes,
            None => all.push(element),
        }
    }
    all.sort_by(|a, b| (&a.buffer, &a.index).cmp(&(&b.buffer, &b.index)));
    *elements = all;
}
