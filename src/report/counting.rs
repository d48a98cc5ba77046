//! A proof by counting in words.

use crate::certificate::counting::Atom;
use crate::certificate::counting::Counting;
use crate::certificate::counting::Fact;
use crate::certificate::counting::System;
use crate::certificate::counting::components;
use crate::protocol::Protocol;

/// The argument in words, one sentence per line.
pub fn explain(protocol: &Protocol, counting: &Counting) -> Vec<String> {
    let mut lines = vec![
        "Members that run the same program are counted, not told apart, and rounds are counted \
         from that of the slowest member, b."
            .to_owned(),
    ];
    let Ok(components) = components(protocol, &counting.enumerated) else {
        return lines;
    };
    for (component, invariant) in components.iter().zip(&counting.systems) {
        let Ok(system) = component.system(protocol, invariant.window) else {
            continue;
        };
        let mut names: Vec<String> = system.groups.iter().map(|g| g.name.clone()).collect();
        let values = component.fixed.iter();
        names.extend(values.map(|(id, v)| format!("{} = {v}", protocol.params[id.0].name)));
        let rounds = match invariant.window {
            1 => "1 round".to_owned(),
            window => format!("{window} rounds"),
        };
        let steps = match invariant.depth {
            1 => "every step preserves".to_owned(),
            depth => format!("a step preserves if they held for {depth} states before it"),
        };
        let names = names.join(", ");
        let count = invariant.facts.len();
        lines.push(format!(
            "{names}: nobody is ever more than {rounds} ahead, and while somebody has not finished, \
             somebody can go on. That follows from {count} facts that {steps}:"
        ));
        let facts = invariant.facts.iter();
        lines.extend(facts.map(|f| format!("  {}", fact(f, &system, &protocol.source))));
    }
    lines
}

/// A fact in words.
fn fact(fact: &Fact, system: &System<'_>, source: &str) -> String {
    match fact {
        Fact::Accounting(element) => format!(
            "the phases of {} account for every arrival there",
            element_name(system, *element)
        ),
        Fact::AccountingExcept(element, ..) => format!(
            "the phases of {} account for every arrival there but those passed by",
            element_name(system, *element)
        ),
        Fact::Always(atom) => atom_words(atom, system, source),
        Fact::When(given, then) => {
            let given: Vec<String> = given
                .iter()
                .map(|atom| atom_words(atom, system, source))
                .collect();
            format!(
                "if {}, {}",
                given.join(" and "),
                atom_words(then, system, source)
            )
        }
    }
}

fn atom_words(atom: &Atom, system: &System<'_>, source: &str) -> String {
    match atom {
        Atom::AtLeast(element, value) => reached(system, *element, *value, true),
        Atom::AtMost(element, value) => match value.checked_add(1) {
            Some(next) => reached(system, *element, next, false),
            None => "anything".to_owned(),
        },
        Atom::Gap(a, b, most) => format!(
            "relative to b, {} is at most {most} phases ahead of {}",
            element_name(system, *a),
            element_name(system, *b)
        ),
        Atom::Empty(place) => format!("no {}", place_name(system, *place, source)),
        Atom::Occupied(place) => format!("some {}", place_name(system, *place, source)),
    }
}

fn place_name(system: &System<'_>, [group, location, lag]: [usize; 3], source: &str) -> String {
    let Some(members) = system.groups.get(group) else {
        return "?".to_owned();
    };
    let what = system.location_name(group, location, source);
    let round = plus("b", lag as i64);
    format!("{} is at {what} in round {round}", members.name)
}

/// That an element has gone on by this many phases more than the base suggests, or that it has
/// not.
fn reached(system: &System<'_>, element: [usize; 2], value: i64, yes: bool) -> String {
    let name = element_name(system, element);
    let [family, distance] = element;
    let size = system.families.get(family).map_or(1, |family| family.size);
    if system.is_semaphore(family) {
        let bound = if yes { "at least" } else { "less than" };
        let round = plus("b", value);
        return format!("{name} has grown by {bound} what the rounds before {round} add");
    }
    let not = if yes { "" } else { "not " };
    if system.families.get(family).is_some_and(|f| !f.turning) {
        return format!("{name} has {not}completed {value} phases");
    }
    let phases = value
        .checked_sub(1)
        .and_then(|phases| size.checked_mul(phases));
    let round = phases.and_then(|rounds| rounds.checked_add_unsigned(distance as u64));
    let round = round.map_or_else(|| "?".to_owned(), |round| plus("b", round));
    format!("{name} has {not}completed the phase of round {round}")
}

fn element_name(system: &System<'_>, [family, distance]: [usize; 2]) -> String {
    let Some(family) = system.families.get(family) else {
        return "?".to_owned();
    };
    let object = &system.terms.protocol().objects[family.object.0].name;
    let index = |at: usize, value: &i64| {
        if family.moving == Some(at) {
            let first = if *value == 0 {
                String::new()
            } else {
                format!("{value} + ")
            };
            let place = family.origin.checked_add_unsigned(distance as u64);
            let place = place.map_or_else(|| "?".to_owned(), |place| plus("b", place));
            let place = if place == "b" {
                place
            } else {
                format!("({place})")
            };
            format!("[{first}{place} % {}]", family.size)
        } else {
            format!("[{value}]")
        }
    };
    let indices = family.first.iter().enumerate();
    let indices: String = indices.map(|(at, value)| index(at, value)).collect();
    format!("{object}{indices}")
}

/// `b`, `b + 2`, `b - 1`.
fn plus(name: &str, value: i64) -> String {
    match value {
        0 => name.to_owned(),
        1.. => format!("{name} + {value}"),
        _ => format!("{name} - {}", value.unsigned_abs()),
    }
}
