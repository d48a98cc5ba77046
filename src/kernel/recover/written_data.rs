//! What is read and written in shared memory, as text of the protocol language.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::interpret::Access;
use crate::ir::Location;
use crate::recover::buffer::ArrayIndex;
use crate::recover::buffer::Element;
use crate::recover::family::each;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::write::unwrapped;
use crate::recover::written::Names;
use crate::recover::written::written;

/// The buffers that roles touch. Fences, orders and scopes are not written, so nothing may be
/// concluded from their absence.
pub fn buffers(roles: &[Role]) -> String {
    let mut all: BTreeSet<(&str, i128, i128)> = BTreeSet::new();
    for role in roles {
        each(&role.lines, &mut |action, _| {
            if let Action::Touch { elements, .. } = action {
                all.extend(elements.iter().map(|element| match &element.array_index {
                    Some((row, _)) => (row.name.as_str(), row.slots, row.length),
                    None => (element.buffer.name.as_str(), element.buffer.slots, 1),
                }));
            }
        });
    }
    let mut text = String::new();
    for (name, slots, length) in all {
        let extents = [slots, length].into_iter().filter(|extent| *extent > 1);
        let extents = extents.map(|extent| extent.to_string());
        let extents = bracketed(extents.collect());
        let _ = writeln!(text, "buffer {name}{extents} {{ orders: unknown }}");
    }
    text
}

fn bracketed(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [] => String::new(),
        parts => format!("[{}]", parts.join(", ")),
    }
}

/// The mbarrier that a copy to these elements signals when they are written. The copy stands in the
/// next line.
pub fn told<'l>(
    elements: &[Element],
    access: Access,
    behind: &'l [Line],
    location: &Location,
) -> Result<Option<&'l Object>, Obstacle> {
    if access != Access::Arrive {
        return Ok(None);
    }
    let Some(Line::Action {
        action: Action::Copy {
            object,
            bytes: Some(bytes),
        },
        ..
    }) = behind.first()
    else {
        return refuse("what a copy writes does not stand beside it", location);
    };
    let all: i128 = elements.iter().map(|element| element.bytes).sum();
    match bytes.as_constant() == Some(all) {
        true => Ok(Some(object)),
        false => refuse("how many bytes this copy writes is not known", location),
    }
}

/// Where an access stands in the source. Unlike a wait or a copy, it is seldom in a function that is called everywhere.
pub fn place(access: Access, location: &Location) -> Location {
    let mut place = location.clone();
    if let Access::Read | Access::Write = access {
        place.source.truncate(1);
    }
    place
}

/// An access to an element. A copy to several elements is written as one to each: its bytes land in any order.
pub fn touch(element: &Element, access: Access, object: Option<&str>, names: &dyn Names) -> String {
    let Element {
        buffer,
        index,
        bytes,
        array_index,
    } = element;
    let name = array_index
        .as_ref()
        .map_or(&buffer.name, |(row, _)| &row.name);
    let mut indices = Vec::new();
    if buffer.slots > 1 {
        indices.push(unwrapped(&written(index, names, false)).to_owned());
    }
    // The warps of a role are numbered by `w`.
    indices.extend(
        array_index
            .as_ref()
            .map(|(_, array_index)| match array_index {
                ArrayIndex::Number(number) => number.to_string(),
                ArrayIndex::Own { plus, modulo } => match (plus, modulo) {
                    (0, None) => "w".to_owned(),
                    (0, Some(modulo)) => format!("w % {modulo}"),
                    (plus, None) => format!("w + {plus}"),
                    (plus, Some(modulo)) => format!("(w + {plus}) % {modulo}"),
                },
            }),
    );
    let element = format!("{name}{}", bracketed(indices));
    match (access, object) {
        (Access::Read, _) => format!("read {element}"),
        (Access::ReadLater, _) => format!("async store reads {element}"),
        (Access::WriteLater, _) => format!("async copy {element}"),
        (_, Some(object)) => format!("async copy {element} completes {object} {bytes}"),
        _ => format!("write {element}"),
    }
}
