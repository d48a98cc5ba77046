//! Merges warps that do the same with their own pieces of shared memory into one role.
//!
//! ```text
//! role warp1 { write a }  role warp2 { write b }
//! become  role warps1_2[w in 0..2] { write ab[w] }
//! ```
//!
//! Buffers that differ only in their place, such as `a` and `b`, become one array of buffers, here
//! `ab`. (In the code an array is also called a row.) The warps of a merged role are numbered by
//! `w`. Roles are merged if, in each statement, the buffer of warp `w` has the index `(w + c) % m`
//! in its array. This only renames elements and members, so no verdict changes.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::ir::VariableId;
use crate::recover::buffer::ArrayIndex;
use crate::recover::buffer::Buffer;
use crate::recover::buffer::BufferArray;
use crate::recover::buffer::Element;
use crate::recover::family::each;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::elements_mut;
use crate::recover::role_ir::every_line_mut;

/// What the buffers of an array have in common: the number of slots, their distance, and the bytes
/// of an element, counted from its first byte.
type Sort = (u32, VariableId, (i128, i128), Vec<(i128, i128)>);

/// All arrays. For each buffer, its array and its index in it.
#[derive(Default)]
struct Rows {
    all: Vec<Rc<BufferArray>>,
    of: BTreeMap<Rc<Buffer>, (usize, i128)>,
}

/// Merges roles where possible.
pub fn merge_roles(roles: &mut Vec<Role>) {
    let rows = rows(roles);
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut sets: Vec<(u32, Vec<Line>, Vec<usize>)> = Vec::new();
    for (number, role) in roles.iter().enumerate() {
        let bare = skeleton(&role.lines);
        let same = sets
            .iter_mut()
            .find(|(rank, lines, _)| *rank == role.rank && *lines == bare);
        match same {
            Some((.., set)) => set.push(number),
            None => sets.push((role.rank, bare, vec![number])),
        }
    }
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for (.., set) in sets.into_iter().filter(|(.., set)| set.len() > 1) {
        let Some((role, rows)) = one(roles, &set, &rows) else {
            continue;
        };
        used.extend(rows);
        roles[set[0]] = role;
        gone.extend(&set[1..]);
    }
    let mut number = 0;
    roles.retain(|_| {
        number += 1;
        !gone.contains(&(number - 1))
    });
    // Roles that are not merged name the buffers of these arrays by their indices.
    for role in roles {
        every_line_mut(&mut role.lines, &mut |line| {
            let Some(elements) = elements_mut(line) else {
                return;
            };
            for element in elements
                .iter_mut()
                .filter(|element| element.array_index.is_none())
            {
                if let Some((row, at)) = rows.of.get(&element.buffer)
                    && used.contains(row)
                {
                    element.array_index = Some((rows.all[*row].clone(), ArrayIndex::Number(*at)));
                }
            }
        });
    }
}

/// All arrays of two buffers or more.
fn rows(roles: &[Role]) -> Rows {
    let mut sorts: BTreeMap<Sort, BTreeSet<Rc<Buffer>>> = BTreeMap::new();
    for role in roles {
        for element in touches(&role.lines).into_iter().flatten() {
            let buffer = &element.buffer;
            let first = buffer.ranges.first().map_or(0, |(from, _)| *from);
            let ranges = buffer.ranges.iter();
            let moved = ranges
                .map(|(from, to)| (from - first, to - first))
                .collect();
            let stride = if buffer.slots > 1 { buffer.stride } else { 0 };
            let slots = (buffer.slots, stride);
            let sort = (buffer.rank, buffer.variable, slots, moved);
            sorts.entry(sort).or_default().insert(buffer.clone());
        }
    }
    let mut rows = Rows::default();
    for buffers in sorts.into_values().filter(|buffers| buffers.len() > 1) {
        let mut buffers: Vec<Rc<Buffer>> = buffers.into_iter().collect();
        let begin = |buffer: &Rc<Buffer>| {
            let first = buffer.ranges.first().map_or(0, |(from, _)| *from);
            buffer.base + first
        };
        buffers.sort_by_key(begin);
        let Some(first) = buffers.first() else {
            continue;
        };
        let row = BufferArray {
            name: first.name.clone(),
            slots: first.slots,
            length: i128::try_from(buffers.len()).unwrap_or(0),
        };
        let number = rows.all.len();
        rows.all.push(Rc::new(row));
        rows.of.extend(
            (0..)
                .zip(buffers)
                .map(|(at, buffer)| (buffer, (number, at))),
        );
    }
    rows
}

/// The elements of each statement that touches shared memory, in the order of the lines.
fn touches(lines: &[Line]) -> Vec<Vec<Element>> {
    let mut all = Vec::new();
    each(lines, &mut |action, _| {
        if let Action::Touch { elements, .. } = action {
            all.push(elements.clone());
        }
    });
    all
}

/// The lines without the elements that they touch.
fn skeleton(lines: &[Line]) -> Vec<Line> {
    let mut bare = lines.to_vec();
    every_line_mut(&mut bare, &mut |line| {
        if let Some(elements) = elements_mut(line) {
            elements.clear();
        }
    });
    bare
}

/// One role in place of several, and the arrays that it uses.
fn one(roles: &[Role], set: &[usize], rows: &Rows) -> Option<(Role, BTreeSet<usize>)> {
    let mut warps: BTreeMap<u32, Vec<Vec<Element>>> = BTreeMap::new();
    for number in set {
        let role = &roles[*number];
        for warp in &role.warps {
            warps.insert(*warp, touches(&role.lines));
        }
    }
    let mut used = BTreeSet::new();
    let statements = warps.values().next()?.len();
    let mut seated = Vec::new();
    for statement in 0..statements {
        let each: Vec<&Vec<Element>> = warps
            .values()
            .map(|touched| touched.get(statement))
            .collect::<Option<_>>()?;
        seated.push(statement_of(&each, rows, &mut used)?);
    }
    let mut role = roles[*set.first()?].clone();
    role.warps = warps.into_keys().collect();
    let mut seated = seated.into_iter();
    every_line_mut(&mut role.lines, &mut |line| {
        if let Some(elements) = elements_mut(line) {
            *elements = seated.next().unwrap_or_default();
        }
    });
    Some((role, used))
}

/// What a statement of the merged role touches: the elements that it touches in all warps, and
/// elements of arrays, each by the number of its warp.
fn statement_of(
    each: &[&Vec<Element>],
    rows: &Rows,
    used: &mut BTreeSet<usize>,
) -> Option<Vec<Element>> {
    let first = each.first()?;
    let is_common = |element: &Element| each.iter().all(|elements| elements.contains(element));
    let mut all: Vec<Element> = first.iter().filter(|one| is_common(one)).cloned().collect();
    let own: Vec<Vec<&Element>> = each
        .iter()
        .map(|elements| elements.iter().filter(|one| !is_common(one)).collect())
        .collect();
    let count = own.first()?.len();
    if own.iter().any(|elements| elements.len() != count) {
        return None;
    }
    for at in 0..count {
        let of_each: Vec<&Element> = own.iter().map(|elements| elements[at]).collect();
        let element = of_each.first()?;
        let (row, _) = rows.of.get(&element.buffer)?;
        let mut seats = Vec::new();
        for other in &of_each {
            let (same, array_index) = rows.of.get(&other.buffer)?;
            if same != row || other.index != element.index || other.bytes != element.bytes {
                return None;
            }
            seats.push(*array_index);
        }
        used.insert(*row);
        all.push(Element {
            array_index: Some((rows.all[*row].clone(), formula(&seats)?)),
            ..(*element).clone()
        });
    }
    Some(all)
}

/// The formula `(w + c) % m` for the indices of all warps, if there is one.
fn formula(seats: &[i128]) -> Option<ArrayIndex> {
    let plus = *seats.first()?;
    let most = seats.iter().max()? + 1;
    let fits = |of: i128| {
        let expected = (0..)
            .zip(seats)
            .map(|(warp, array_index)| ((plus + warp) % of, *array_index));
        expected
            .into_iter()
            .all(|(expected, array_index)| expected == array_index)
    };
    let count = i128::try_from(seats.len()).ok()?;
    if plus + count <= most && fits(most.checked_add(count)?) {
        return Some(ArrayIndex::Own { plus, modulo: None });
    }
    fits(most).then_some(ArrayIndex::Own {
        plus,
        modulo: Some(most),
    })
}
