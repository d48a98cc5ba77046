//! The argument in words.

use super::Counting;
use super::cases::components;
use super::steps::Origin;
use super::system::System;
use crate::certificate::exact;
use crate::protocol::Protocol;

impl System<'_> {
    /// What a step is, in words.
    pub fn origin_name(&self, origin: Origin, source: &str) -> String {
        match origin {
            Origin::Shift => "the move of the base".to_owned(),
            Origin::Location(group, location) => {
                let name = &self.groups[group].name;
                format!("{} of {name}", self.location_name(group, location, source))
            }
        }
    }

    fn location_name(&self, group: usize, location: usize, source: &str) -> String {
        let [before, round, _] = self.layout.groups[group];
        let members = &self.groups[group];
        let op = if location < before {
            members.before.get(location)
        } else {
            let past_head = location.checked_sub(before);
            match past_head.and_then(|at| at.checked_sub(round.max(1))) {
                None => past_head.and_then(|at| members.round.get(at)),
                Some(after) => members.after.get(exact::next(after)),
            }
        };
        match op {
            Some(op) => {
                let text = source.get(op.span.start..op.span.end).unwrap_or("?");
                let text: Vec<&str> = text.split_whitespace().collect();
                format!("`{}`", text.join(" "))
            }
            None => "the end".to_owned(),
        }
    }

    pub(super) fn place_name(&self, [group, location, lag]: [usize; 3], source: &str) -> String {
        let Some(members) = self.groups.get(group) else {
            return "?".to_owned();
        };
        let what = self.location_name(group, location, source);
        let round = plus("b", lag as i64);
        format!("{} is at {what} in round {round}", members.name)
    }

    /// That an element has gone on by this many phases more than the base suggests, or that it has
    /// not.
    pub(super) fn reached(&self, element: [usize; 2], value: i64, yes: bool) -> String {
        let name = self.element_name(element);
        let [family, distance] = element;
        let size = self.families.get(family).map_or(1, |family| family.size);
        if self.is_semaphore(family) {
            let bound = if yes { "at least" } else { "less than" };
            let round = plus("b", value);
            return format!("{name} has grown by {bound} what the rounds before {round} add");
        }
        let not = if yes { "" } else { "not " };
        if self.families.get(family).is_some_and(|f| !f.turning) {
            return format!("{name} has {not}completed {value} phases");
        }
        let phases = value
            .checked_sub(1)
            .and_then(|phases| size.checked_mul(phases));
        let round = phases.and_then(|rounds| rounds.checked_add_unsigned(distance as u64));
        let round = round.map_or_else(|| "?".to_owned(), |round| plus("b", round));
        format!("{name} has {not}completed the phase of round {round}")
    }

    pub(super) fn element_name(&self, [family, distance]: [usize; 2]) -> String {
        let Some(family) = self.families.get(family) else {
            return "?".to_owned();
        };
        let object = &self.terms.protocol().objects[family.object.0].name;
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
}

/// `b`, `b + 2`, `b - 1`.
fn plus(name: &str, value: i64) -> String {
    match value {
        0 => name.to_owned(),
        1.. => format!("{name} + {value}"),
        _ => format!("{name} - {}", value.unsigned_abs()),
    }
}

/// The argument in words, one sentence per line; with every fact, or how many there are.
fn explain(protocol: &Protocol, counting: &Counting, every: bool) -> Vec<String> {
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
             somebody can go on. That follows from {count} facts that {steps}{}",
            if every { ":" } else { "." }
        ));
        if every {
            let facts = invariant.facts.iter();
            lines.extend(facts.map(|fact| format!("  {}", fact.words(&system, &protocol.source))));
        }
    }
    lines
}

impl Counting {
    /// The argument in words, one sentence per line, with every fact.
    pub fn explain(&self, protocol: &Protocol) -> Vec<String> {
        explain(protocol, self, true)
    }

    /// The argument in words, without the facts.
    pub fn summary(&self, protocol: &Protocol) -> Vec<String> {
        explain(protocol, self, false)
    }
}
