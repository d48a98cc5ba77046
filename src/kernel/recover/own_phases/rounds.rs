//! Checks the rounds of a warp that waits for states: each arrival has its wait, and the number of an arrival says at
//! which mbarrier of the ring it is.

use super::member::Member;
use super::member::Ring;
use crate::ir::Location;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::every_line;
use crate::recover::role_ir::returns;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const UNORDERED: &str = "a wait for the state of an arrival is followed where it comes behind each arrival of its warp at the mbarrier, in the same block";
const ELSEWHERE: &str =
    "which mbarrier of a ring an arrival is at does not follow from how many came before";

/// The rounds of a warp that waits: its arrivals at one mbarrier, and the wait behind them.
pub(super) struct Rounds<'a> {
    pub(super) member: &'a Member<'a>,
    pub(super) ring: &'a Ring,
    pub(super) class: Option<u32>,
    /// The most arrivals of a round, and the fewest.
    pub(super) most: i128,
    pub(super) least: i128,
}

impl Rounds<'_> {
    pub(super) fn block(&mut self, lines: &[Line]) -> Result<(), Obstacle> {
        let mut marks: Vec<(&Object, &Number)> = Vec::new();
        let mut open: Option<(&Object, &Number, i128)> = None;
        let mut last = Location::default();
        for line in lines {
            if let Line::Action { location, .. } = line {
                last = location.clone();
            }
            if let Some((object, count)) = self.member.arrives(line, self.ring) {
                let mut own = marks.extract_if(.., |(other, _)| *other == object);
                let (Some((_, number)), None, Some(count)) = (own.next(), own.next(), count) else {
                    return refuse(UNORDERED, &last);
                };
                let before = match open {
                    None => 0,
                    Some((other, same, before)) if (other, same) == (object, number) => before,
                    Some(_) => return refuse(UNORDERED, &last),
                };
                let all = before.saturating_add(count);
                self.most = self.most.max(all);
                open = Some((object, number, all));
                continue;
            }
            if let Some((object, number)) = self.member.waits(line, self.ring) {
                match open.take() {
                    Some((other, same, all)) if (other, same) == (object, number) => {
                        self.least = self.least.min(all);
                        continue;
                    }
                    _ => return refuse(UNORDERED, &last),
                }
            }
            match line {
                Line::Action {
                    action:
                        Action::Numbered {
                            object,
                            number,
                            class,
                        },
                    ..
                } if self.member.hits(object, self.ring) => {
                    if *self.class.get_or_insert(*class) != *class {
                        return refuse(ELSEWHERE, &last);
                    }
                    marks.push((object, number));
                }
                Line::Action {
                    action: Action::Wait { object, .. },
                    ..
                } if self.member.hits(object, self.ring) => return refuse(UNORDERED, &last),
                Line::Return if open.is_some() => return refuse(UNORDERED, &last),
                _ => {}
            }
            for block in line.blocks() {
                if open.is_some() && (self.member.touches(block, self.ring) || returns(block)) {
                    return refuse(UNORDERED, &last);
                }
                self.block(block)?;
            }
        }
        if open.is_some() || !marks.is_empty() {
            return refuse(UNORDERED, &last);
        }
        Ok(())
    }

    /// Checks that the arrivals of the class are all at the ring, each at the mbarrier whose turn
    /// it is.
    pub(super) fn numbered(&self, lines: &[Line], place: &Location) -> Result<(), Obstacle> {
        let mut fits = true;
        every_line(lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let (object, number) = match action {
                Action::Numbered {
                    object,
                    number,
                    class,
                }
                | Action::WaitOwn {
                    object,
                    number,
                    class,
                } => {
                    let mine = Some(*class) == self.class;
                    if mine != self.member.hits(object, self.ring) {
                        fits = false;
                    }
                    if !mine {
                        return;
                    }
                    (object, number)
                }
                _ => return,
            };
            fits &= turn(object, number, self.ring);
        });
        if !fits {
            return refuse(ELSEWHERE, place);
        }
        Ok(())
    }
}

/// Whether an arrival of this number is at the mbarrier whose turn it is.
pub(super) fn turn(object: &Object, number: &Number, ring: &Ring) -> bool {
    let places: Vec<i128> = ring.places.iter().copied().collect();
    let [base, rest @ ..] = places.as_slice() else {
        return false;
    };
    let stride = rest.first().map_or(0, |next| next - base);
    if places.windows(2).any(|pair| pair[1] - pair[0] != stride) {
        return false;
    }
    let wanted = i128::try_from(places.len())
        .ok()
        .and_then(|stages| number.remainder(stages))
        .and_then(|turn| turn.times(stride))
        .and_then(|offset| offset.plus(&Number::constant(*base)));
    object.rank == ring.rank
        && object.variable == ring.variable
        && wanted.as_ref() == Some(&object.offset)
}
