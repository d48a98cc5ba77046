//! Lanes that arrive at an mbarrier when their copies have landed
//! (`cp.async.mbarrier.arrive.noinc`).
//!
//! In the text, such an instruction is one arrival for each lane, because it takes effect when the
//! copies of this lane have landed. So the arrivals of one instruction may belong to two phases in
//! the text. On hardware, a launch fails if more lanes arrive at once than a phase takes. So this
//! is refused if it is certain, and otherwise it is assumed, and printed, that it does not happen.

use crate::recover::family::Families;
use crate::recover::family::each;
use crate::recover::number::Atomic;
use crate::recover::number::Range;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Work;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const BEYOND: &str = "more lanes arrive here at once than a phase takes, which is undefined";

const TOGETHER: &str =
    "lanes that arrive at an mbarrier at once when their copies have landed do so in one phase";

/// Refuses lanes that certainly arrive in more than one phase. Returns an assumption if that is
/// merely possible.
pub fn check_noinc_arrivals(
    families: &Families,
    roles: &[Role],
    range_in: &dyn Fn(usize, &Atomic) -> Option<Range>,
) -> Result<Option<&'static str>, Obstacle> {
    let mut found = Ok(None);
    for (at, role) in roles.iter().enumerate() {
        each(&role.lines, &mut |action, location| {
            let Action::Commit {
                object,
                count,
                work: Work::Copies,
            } = action
            else {
                return;
            };
            let Some(number) = families.of(object, &|atomic| range_in(at, atomic)) else {
                return;
            };
            let family = &families.all[number];
            if found.is_err() || *count <= family.unit {
                return;
            }
            found = match *count > family.arrivals {
                true => refuse(BEYOND, location),
                false => Ok(Some(TOGETHER)),
            };
        });
    }
    found
}
