//! Puts waits at the end of a tile under the condition that the tile has multiplications. Otherwise they are
//! redundant: the warp has waited for the same phase before.
//!
//! ```text
//! for tile in 0..tiles {
//!     for k in 0..n { arrive bar[r % 2]; r = r + 1 }
//!     wait bar[(r + 1) % 2] ((r + 1) / 2 + 1) % 2
//! }
//! ```
//!
//! At the end of a tile a warp waits until its multiplications are done ([`crate::recover::warpgroups`]). If `n` is
//! 0, this is the same wait as at the end of the tile before, and it passes at once. So it is written as
//! `if n >= 1 { wait .. }`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::VariableId;
use crate::recover::branches::Ranges;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::assigned;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::returns;

/// Puts such waits under a condition.
pub fn without_redundant_waits(roles: &mut [Role], ring: VariableId, ranges: &Ranges) {
    for role in roles {
        let mut before = Before::default();
        before.follow(&mut role.lines, ring, ranges);
    }
}

/// What is known of a role in front of a line that is in no loop.
#[derive(Default, Clone)]
struct Before {
    /// Variables with a constant value.
    known: BTreeMap<u32, Number>,
    has_arrived: bool,
}

impl Before {
    fn follow(&mut self, lines: &mut [Line], ring: VariableId, ranges: &Ranges) {
        for line in lines {
            if let Line::For { index, body, .. } = line
                && !self.has_arrived
            {
                self.condition_waits(*index, body, ring, ranges);
            }
            match line {
                Line::Let { variable, value } | Line::Assign { variable, value } => {
                    match value.as_constant() {
                        Some(_) => self.known.insert(*variable, value.clone()),
                        None => self.known.remove(variable),
                    };
                }
                Line::If {
                    then, otherwise, ..
                } => {
                    let mut ends = Vec::new();
                    for side in [then, otherwise] {
                        let mut inside = self.clone();
                        inside.follow(side, ring, ranges);
                        ends.push(inside);
                    }
                    for end in ends {
                        self.has_arrived |= end.has_arrived;
                        self.known
                            .retain(|variable, value| end.known.get(variable) == Some(value));
                    }
                }
                Line::For { .. } => {
                    for variable in assigned(std::slice::from_ref(line)) {
                        self.known.remove(&variable);
                    }
                    self.has_arrived |= arrives(line, ring);
                }
                Line::Action { .. } => self.has_arrived |= arrives(line, ring),
                Line::Return => {}
            }
        }
    }

    /// Puts the waits in the body of a loop under conditions. The loop itself is in no other loop.
    fn condition_waits(&self, index: u32, body: &mut [Line], ring: VariableId, ranges: &Ranges) {
        if returns(body) {
            return;
        }
        for at in 0..body.len() {
            let Some(needed) = self.needed(index, body, at, ring, ranges) else {
                continue;
            };
            let wait = body[at].clone();
            let Line::Action { location, .. } = &wait else {
                continue;
            };
            body[at] = Line::If {
                condition: needed,
                location: location.clone(),
                then: vec![wait],
                otherwise: Vec::new(),
            };
        }
    }

    /// The condition under which a wait of a body may be for another phase than in the iteration before. If the
    /// condition fails, the wait passes at once, as follows.
    ///
    /// The wait is executed once in each iteration, and variables decide for which phase it is. These variables move
    /// only in front of it, in loops inside of that loop. The same holds for all arrivals of the warp at the ring. If
    /// none of these loops has an iteration, the wait is for the same phase of the same mbarrier as in the iteration
    /// before, and the warp has made no arrival since.
    ///
    /// When the warp passed the earlier wait, it had not yet arrived for the next phase of this mbarrier: there are
    /// at least as many mbarriers as groups in flight, and the group that is waited for is one of these. The next
    /// phase takes one arrival of each of the four warps. So it is not complete, and the wait for the phase before it
    /// passes at once.
    ///
    /// The first iteration has none before. There the warp must not have arrived at the ring at all. The wait has to
    /// be for parity 1, which a new mbarrier takes as complete.
    fn needed(
        &self,
        index: u32,
        body: &[Line],
        at: usize,
        ring: VariableId,
        ranges: &Ranges,
    ) -> Option<Condition> {
        let Line::Action {
            action: Action::Wait { object, parity },
            ..
        } = &body[at]
        else {
            return None;
        };
        if object.variable != ring {
            return None;
        }
        let mut variables = BTreeSet::new();
        let mut is_fixed = true;
        for number in [&object.offset, parity] {
            number.each(&mut |atomic| match atomic {
                Atomic::Variable(variable) => {
                    variables.insert(*variable);
                }
                Atomic::Index(own) => is_fixed &= *own != index,
                _ => {}
            });
        }
        let value = |atomic: &Atomic| match atomic {
            Atomic::Variable(variable) => self.known.get(variable)?.as_constant(),
            _ => None,
        };
        let is_new = object.offset.value(&value).is_some() && parity.value(&value) == Some(1);
        if variables.is_empty() || !is_fixed || !is_new {
            return None;
        }
        let of = |atomic: &Atomic| ranges.get(atomic).copied();
        let mut rounds = Number::default();
        for (place, line) in body.iter().enumerate() {
            let moves = !assigned(std::slice::from_ref(line)).is_disjoint(&variables);
            if !(moves || arrives(line, ring)) {
                continue;
            }
            let Line::For { count, .. } = line else {
                return None;
            };
            let varies = |atomic: &Atomic| match atomic {
                Atomic::Variable(_) => true,
                Atomic::Index(own) => *own == index,
                _ => false,
            };
            if place > at || count.mentions(&varies) || !count.is_natural(&of) {
                return None;
            }
            rounds = rounds.plus(count)?;
        }
        let more = rounds.minus(&Number::constant(1))?;
        (!more.is_natural(&of)).then(|| Condition::at_least_zero(more))
    }
}

/// Whether a line, or a line inside of it, arrives at a ring.
fn arrives(line: &Line, ring: VariableId) -> bool {
    let mut found = false;
    every_line(std::slice::from_ref(line), &mut |line| {
        found |= matches!(line, Line::Action { action: Action::Arrive { object, .. }, .. } if object.variable == ring);
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Location;
    use crate::recover::role_ir::Object;

    const RING: VariableId = VariableId(7);

    fn action(action: Action) -> Line {
        Line::Action {
            action,
            location: Location::default(),
        }
    }

    fn object(round: &Number) -> Object {
        Object {
            rank: 0,
            variable: RING,
            offset: round.remainder(2).unwrap().times(8).unwrap(),
        }
    }

    /// A loop of tiles with so many multiplications each, the first tile beginning with group `first`; what is done
    /// besides in each tile. Whether the wait at the end of a tile gets a condition.
    fn gets_condition(first: i128, count: Number, besides: Option<Action>) -> bool {
        let groups = Number::of(Atomic::Variable(0));
        let next = groups.plus(&Number::constant(1)).unwrap();
        let round = next.divided(2).unwrap().plus(&Number::constant(1)).unwrap();
        let arrive = Action::Arrive {
            object: object(&groups),
            count: Number::constant(1),
        };
        let inner = Line::For {
            index: 1,
            count,
            body: vec![
                action(arrive),
                Line::Assign {
                    variable: 0,
                    value: next.clone(),
                },
            ],
            location: Location::default(),
        };
        let wait = Action::Wait {
            object: object(&next),
            parity: round.remainder(2).unwrap(),
        };
        let mut body = vec![inner, action(wait)];
        body.extend(besides.map(action));
        let mut lines = vec![
            Line::Let {
                variable: 0,
                value: Number::constant(first),
            },
            Line::For {
                index: 0,
                count: Number::of(Atomic::Input(1)),
                body,
                location: Location::default(),
            },
        ];
        let ranges = Ranges::from([(Atomic::Input(0), (0, 9)), (Atomic::Input(1), (0, 9))]);
        Before::default().follow(&mut lines, RING, &ranges);
        let mut found = false;
        every_line(&lines, &mut |line| {
            found |= matches!(line, Line::If { then, .. }
                if matches!(then[..], [Line::Action { action: Action::Wait { .. }, .. }]));
        });
        found
    }

    #[test]
    fn waits_of_tiles_without_multiplications() {
        let n = Number::of(Atomic::Input(0));
        let arrive = |round: i128| Action::Arrive {
            object: object(&Number::constant(round)),
            count: Number::constant(1),
        };
        assert!(gets_condition(0, n.clone(), None));
        // The first tile without any would wait for phase 0 of an mbarrier, or for the phase before.
        assert!(!gets_condition(1, n.clone(), None));
        assert!(gets_condition(4, n.clone(), None));
        // The warp arrives once more in each tile.
        assert!(!gets_condition(0, n.clone(), Some(arrive(0))));
        // There may be fewer multiplications than none.
        assert!(!gets_condition(
            0,
            n.minus(&Number::constant(1)).unwrap(),
            None
        ));
        // Each tile has some.
        assert!(!gets_condition(
            0,
            n.plus(&Number::constant(1)).unwrap(),
            None
        ));
    }
}
