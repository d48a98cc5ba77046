//! Functions of rounds ([`crate::recover::applied`]) in the text.
//!
//! ```text
//! param in_round_most in 0..=8
//! pattern in_round_has[tiles, in_round_most]
//! let in_round(round_1) = count(entry in 0..in_round_most where in_round_has[round_1, entry])
//! ```
//!
//! The value in a round is how many entries the row of that round has. A row may have any number of entries up to its length, whatever
//! the other rows have. So the rows stand for every function of the round up to the greatest value, which is a parameter.
//!
//! There are as many rows as rounds. Where the text has no number for these, that is a parameter up to the greatest number of rounds. A
//! verdict for all of its values covers those in which every round has its row. With others it says more than it has to.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::applied::Applied;
use crate::recover::extents::greatest;
use crate::recover::lower::Inputs;
use crate::recover::names::identifier;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::rewrite::conditions;
use crate::recover::rewrite::numbers;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::counts;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;
use crate::recover::written::Names;
use crate::recover::written::written;

/// How many rows a pattern has along a coordinate.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Room {
    Number(Number),
    /// A parameter up to this.
    UpTo(i128),
}

/// Room for one number of a round: as a number of the text, if there is one, and at most.
type Needed = (Option<Number>, i128);

/// A function whose value is how many entries a row of a pattern has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Its number among the functions.
    pub function: u32,
    name: String,
    /// For each coordinate.
    rooms: Vec<Room>,
    most: i128,
    /// What the function is computed from.
    of: String,
    /// Names that nothing else has, one for each coordinate and one for the entry.
    names: Vec<String>,
}

impl Rows {
    /// The functions that occur in roles.
    pub fn all(roles: &mut [Role], inputs: &Inputs) -> Result<Vec<Self>, Obstacle> {
        let mut found: BTreeMap<u32, Vec<Vec<Needed>>> = BTreeMap::new();
        let mut endless = false;
        for role in roles {
            let counts = counts(&role.lines);
            let range = |number: &Number| number.range(&|atomic| inputs.range_of(atomic, &counts));
            let mut look = |number: &Number| {
                number.each(&mut |atomic| {
                    let Atomic::Applied(one) = atomic else {
                        return;
                    };
                    let all = found.entry(one.function).or_default();
                    all.resize(one.coordinates.len(), Vec::new());
                    for (all, number) in all.iter_mut().zip(&one.coordinates) {
                        let room = greatest(number, &counts, None)
                            .and_then(|most| most.plus(&Number::constant(1)))
                            .map(|room| natural(room, inputs, &counts));
                        let Some((_, most)) = range(number) else {
                            endless = true;
                            continue;
                        };
                        all.push((room, most.saturating_add(1)));
                    }
                });
            };
            numbers(&mut role.lines, &mut |number| look(number));
            conditions(&mut role.lines, &mut |condition| condition.each(&mut look));
        }
        if endless {
            return refuse(
                "the number of the round that decides about synchronization has no greatest value",
                &Location::default(),
            );
        }
        let mut rows = Vec::new();
        for (function, all) in found {
            if let Some(own) = inputs.functions.get(function as usize) {
                let mut names: Vec<String> =
                    (1..=all.len()).map(|at| format!("round_{at}")).collect();
                let name = match rows.len() {
                    0 => "in_round".to_owned(),
                    before => format!("in_round_{}", before + 1),
                };
                names.extend(["entry".to_owned(), name]);
                for name in &mut names {
                    let is_taken = |name: &str| {
                        let mut inputs = inputs.all.iter();
                        inputs.any(|input| identifier(&input.name) == name)
                    };
                    while is_taken(name) {
                        name.push('_');
                    }
                }
                let name = names.pop().unwrap_or_default();
                rows.push(Self {
                    function,
                    name,
                    rooms: all.iter().map(|all| room(all)).collect(),
                    most: own.most,
                    of: own.of.clone(),
                    names,
                });
            }
        }
        Ok(rows)
    }

    /// The declarations.
    pub fn declared(&self, names: &dyn Names) -> String {
        let Self { name, most, of, .. } = self;
        let mut text = String::new();
        let mut extents = Vec::new();
        for (at, room) in self.rooms.iter().enumerate() {
            extents.push(match room {
                Room::Number(number) => written(number, names, false),
                Room::UpTo(most) => {
                    let rooms = format!("{name}_rounds_{}", at + 1);
                    text.push_str(&format!(
                        "param {rooms} in 0..={most}  // rounds that have a number\n"
                    ));
                    rooms
                }
            });
        }
        let extents = extents.join(", ");
        let (coordinates, entry) = match &self.names[..] {
            [coordinates @ .., entry] => (coordinates.join(", "), entry.as_str()),
            [] => (String::new(), ""),
        };
        text.push_str(&format!(
            "param {name}_most in 0..={most}  // the greatest number in a round, computed from {of}\n\
             pattern {name}_has[{extents}, {name}_most]\n\
             let {name}({coordinates}) = \
             count({entry} in 0..{name}_most where {name}_has[{coordinates}, {entry}])\n"
        ));
        text
    }

    /// The value of the function as a number of the text.
    pub fn applied(&self, one: &Applied, names: &dyn Names) -> String {
        let coordinate = |number: &Number| written(number, names, false);
        let coordinates: Vec<String> = one.coordinates.iter().map(coordinate).collect();
        format!("{}({})", self.name, coordinates.join(", "))
    }
}

/// Room for each of these numbers of rounds, of which each has a greatest value.
fn room(all: &[Needed]) -> Room {
    let most = all.iter().map(|(_, most)| *most).max().unwrap_or(0);
    let mut numbers = all.iter().map(|(number, _)| number.as_ref());
    match numbers.next() {
        Some(Some(first)) if numbers.all(|other| other == Some(first)) => {
            Room::Number(first.clone())
        }
        _ => Room::UpTo(most),
    }
}

/// A number, or 0 where that may be below 0.
pub fn natural(number: Number, inputs: &Inputs, counts: &BTreeMap<u32, Number>) -> Number {
    match number.range(&|atomic| inputs.range_of(atomic, counts)) {
        Some((0.., _)) => number,
        _ => Number::maximum(Number::constant(0), number),
    }
}
