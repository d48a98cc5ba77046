//! Arrivals of warps in place of those of lanes.

use super::member::Member;
use super::member::Ring;
use crate::recover::lower::Inputs;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::every_line_mut;

/// The roles with one arrival of each warp in a round, in place of the arrivals of its lanes.
/// `None` if nothing changes.
///
/// Suppose that everybody has been in step so far, that `n` warps only arrive, and that each of
/// these makes `w` arrivals in a round.
///
/// - A phase is complete when all who wait have arrived, and the others have made `n * w` arrivals
///   for each phase so far. Counted in warps, these are equally many before and after the change.
/// - A phase of the kernel may complete earlier, if the others have made more arrivals than that.
///   Then, in the changed roles, one more arrival of a warp completes a phase without the last warp
///   that waits. That warp is out of step from then on, and hangs.
///
/// So if the changed roles do not hang, no phase of the kernel completes earlier, and both do the
/// same. If they hang, the kernel need not.
pub fn by_warp(roles: &[Role], rings: &[Ring], inputs: &Inputs) -> Option<Vec<Role>> {
    let mut changed = roles.to_vec();
    let rings = rings
        .iter()
        .filter_map(|ring| Some((ring, ring.warps?)))
        .collect::<Vec<_>>();
    for (role, new) in roles.iter().zip(&mut changed) {
        let member = Member::new(role, inputs);
        let inside = |object: &Object, ring: &Ring| {
            let places = member.places(object);
            places.is_some_and(|places| places.is_subset(&ring.places))
        };
        let mut fits = true;
        every_line_mut(&mut new.lines, &mut |line| {
            let Line::Action { action, .. } = line else {
                return;
            };
            let of = |object: &Object| rings.iter().find(|(ring, _)| member.hits(object, ring));
            match action {
                Action::Init { object, count } => {
                    if let Some((ring, warps)) = of(object) {
                        fits &= inside(object, ring);
                        *count = *warps;
                    }
                }
                Action::Arrive { object, count } if of(object).is_some() => {
                    *count = Number::constant(1);
                }
                // Such an arrival takes effect later, when the warp is somewhere else.
                Action::Commit { object, .. } => fits &= of(object).is_none(),
                _ => {}
            }
        });
        if !fits {
            return None;
        }
    }
    (changed != roles).then_some(changed)
}
