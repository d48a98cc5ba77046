//! Describes the steps and locations of the Horn system in words.

use super::steps::Origin;
use super::system::System;
use crate::certificate::exact;

impl System<'_> {
    /// The step in words.
    pub fn origin_name(&self, origin: Origin, source: &str) -> String {
        match origin {
            Origin::Shift => "the move of the base".to_owned(),
            Origin::Location(group, location) => {
                let name = &self.groups[group].name;
                format!("{} of {name}", self.location_name(group, location, source))
            }
        }
    }

    /// The location in words: the operation that a member executes next.
    pub fn location_name(&self, group: usize, location: usize, source: &str) -> String {
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
}
