//! Second lifetimes of mbarriers: a place in shared memory is initialised again behind the end of a lifetime.
//!
//! ```text
//! warp 0: init bar 1; sync all; wait bar 0; sync all; invalidate bar; init bar 2; sync all; ..
//! ```
//!
//! If the same warp initialises the place again, the second lifetime becomes an mbarrier of its own. A use by another
//! warp belongs to the first lifetime if it comes before a full barrier that precedes the end of this lifetime. It
//! belongs to the second one if it comes behind a full barrier that follows the beginning of the second one. Any
//! other use is refused.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::recover::family::object_mut;
use crate::recover::loop_lifetimes::mbarriers_of_loops;
use crate::recover::lower::Inputs;
use crate::recover::mbarrier_lifetimes::FullBarrier;
use crate::recover::mbarrier_lifetimes::Place;
use crate::recover::mbarrier_lifetimes::RoleUses;
use crate::recover::mbarrier_lifetimes::TWICE;
use crate::recover::mbarrier_lifetimes::Use;
use crate::recover::mbarrier_lifetimes::ends;
use crate::recover::mbarrier_lifetimes::uses_by_role;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::LIFE;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line_mut;
use crate::recover::shape::Shape;
use crate::recover::tree::Obstacle;

/// Gives the places of second lifetimes offsets of their own, which no real place has.
pub fn split_lifetimes(roles: &mut [Role], inputs: &Inputs, shape: Shape) -> Result<(), Obstacle> {
    let lives = uses_by_role(roles, inputs, shape);
    let borders = again(&lives, &mbarriers_of_loops(roles));
    if borders.is_empty() {
        return Ok(());
    }
    let numbers = lives.iter().map(|life| life.numbered(&borders));
    let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    for (role, numbers) in roles.iter_mut().zip(numbers) {
        move_lives(&mut role.lines, &mut numbers.into_iter());
    }
    Ok(())
}

/// Where a second lifetime of a place follows the first. One role has both lines: the end of the first and the
/// beginning of the second.
struct Border<'a, 'b> {
    life: &'b RoleUses<'a>,
    end: usize,
    begin: usize,
}

/// Where places are initialised once more behind the end of their lifetime, by the same warp.
fn again<'a, 'b>(
    lives: &'b [RoleUses<'a>],
    anew: &BTreeSet<Place>,
) -> BTreeMap<Place, Vec<Border<'a, 'b>>> {
    let mut borders: BTreeMap<Place, Vec<Border<'a, 'b>>> = BTreeMap::new();
    let mut owners: BTreeMap<Place, usize> = BTreeMap::new();
    for (number, life) in lives.iter().enumerate() {
        // For each place, the last line that begins or ends its lifetime, and whether it begins it.
        let mut last: BTreeMap<Place, (usize, bool)> = BTreeMap::new();
        for one in &life.uses {
            let begins = matches!(one.action, Action::Init { .. });
            if !begins && !ends(one.action) {
                continue;
            }
            for place in one.places.difference(anew) {
                // Anything less simple is refused later, where it is checked that each lifetime begins once.
                let simple = one.places.len() == 1 && !one.repeated && life.role.warps.len() == 1;
                if !simple || *owners.entry(*place).or_insert(number) != number {
                    return BTreeMap::new();
                }
                let before = last.insert(*place, (one.line, begins));
                match (before, begins) {
                    (None, true) | (Some((_, true)), false) => {}
                    (Some((end, false)), true) if end < one.line => {
                        borders.entry(*place).or_default().push(Border {
                            life,
                            end,
                            begin: one.line,
                        });
                    }
                    _ => return BTreeMap::new(),
                }
            }
        }
    }
    borders
}

/// Moves the mbarrier of each action by [`LIFE`] bytes for each lifetime before its own.
fn move_lives(lines: &mut [Line], numbers: &mut impl Iterator<Item = i128>) {
    every_line_mut(lines, &mut |line| {
        if let Line::Action { action, .. } = line
            && let Some(object) = object_mut(action)
        {
            let shift = numbers.next().unwrap_or(0).checked_mul(LIFE);
            let moved = shift.and_then(|shift| object.offset.plus(&Number::constant(shift)));
            object.offset = moved.unwrap_or_else(|| object.offset.clone());
        }
    });
}

impl RoleUses<'_> {
    /// For each action with an mbarrier, in the order of the lines: the number of the lifetime to which it belongs.
    /// Refuses actions for which that is not certain.
    fn numbered(
        &self,
        borders: &BTreeMap<Place, Vec<Border<'_, '_>>>,
    ) -> Result<Vec<i128>, Obstacle> {
        let of_place = |place: &Place, one: &Use<'_>| -> Option<i128> {
            let mut number = 0;
            for border in borders.get(place).into_iter().flatten() {
                number += i128::from(self.is_behind(border, one)?);
            }
            Some(number)
        };
        let mut numbers = Vec::new();
        for one in &self.uses {
            let places = one.places.iter();
            let found: BTreeSet<Option<i128>> = places.map(|place| of_place(place, one)).collect();
            let (1, Some(Some(number))) = (found.len(), found.first()) else {
                return Err(Obstacle::new(TWICE, one.location.clone()));
            };
            numbers.push(*number);
        }
        Ok(numbers)
    }

    /// Whether a use of this role comes behind the end of a lifetime and the beginning of the next one,
    /// or before both. `None` if neither is certain.
    fn is_behind(&self, border: &Border<'_, '_>, one: &Use<'_>) -> Option<bool> {
        let (owner, line) = (border.life, one.line);
        if std::ptr::eq(owner.role, self.role) {
            return match line {
                line if line <= border.end => Some(false),
                line if line >= border.begin => Some(true),
                _ => None,
            };
        }
        if owner.role.rank != self.role.rank {
            return None;
        }
        if self.has_met(one, owner, border.end) {
            return Some(false);
        }
        let (mine, theirs) = (&self.of_cta, &owner.of_cta);
        FullBarrier::is_between(theirs, border.begin, mine, line).then_some(true)
    }
}
