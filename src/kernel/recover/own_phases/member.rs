//! Rings of mbarriers at which warps wait for states of their arrivals, and what a role does to
//! them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::ir::VariableId;
use crate::recover::family::places;
use crate::recover::lower::Inputs;
use crate::recover::number::Number;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line;

/// Mbarriers at which warps wait for states of their arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    pub(super) rank: u32,
    pub(super) variable: VariableId,
    pub(super) places: BTreeSet<i128>,
    pub(super) steps: Steps,
    /// How many warps arrive in a round. This is known if each warp that does not wait makes
    /// equally many arrivals at once, and all together make as many as a phase takes.
    pub(super) warps: Option<i128>,
}

/// Why warps are in step at a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// Everybody who arrives waits for the states of these arrivals. So everybody is in step.
    Certain,
    /// Others only arrive. The text has waits by which warps that wait are in step.
    Guarded,
}

/// A role, and where each of its objects may lie.
pub(super) struct Member<'a> {
    pub(super) role: &'a Role,
    inputs: &'a Inputs,
    counts: BTreeMap<u32, Number>,
}

impl<'a> Member<'a> {
    pub(super) fn new(role: &'a Role, inputs: &'a Inputs) -> Self {
        Self {
            role,
            inputs,
            counts: counts(&role.lines),
        }
    }

    pub(super) fn places(&self, object: &Object) -> Option<BTreeSet<i128>> {
        places(&object.offset, &|atomic| {
            self.inputs.range_of(atomic, &self.counts)
        })
    }

    /// Whether an object may be one of a ring. An object that is not known may be any of its
    /// variable.
    pub(super) fn hits(&self, object: &Object, ring: &Ring) -> bool {
        let same = object.rank == ring.rank && object.variable == ring.variable;
        same && self
            .places(object)
            .is_none_or(|places| !places.is_disjoint(&ring.places))
    }

    /// How many arrivals an action makes at a ring.
    pub(super) fn arrives<'l>(
        &self,
        line: &'l Line,
        ring: &Ring,
    ) -> Option<(&'l Object, Option<i128>)> {
        let Line::Action { action, .. } = line else {
            return None;
        };
        let (object, count) = match action {
            Action::Arrive { object, count } => (object, count.as_constant()),
            Action::Commit { object, count, .. } => (object, Some(*count)),
            Action::ArriveExpect { object, .. } => (object, Some(1)),
            _ => return None,
        };
        self.hits(object, ring).then_some((object, count))
    }

    /// Whether the role waits for states of its arrivals at a ring.
    pub(super) fn awaits(&self, ring: &Ring) -> bool {
        let mut found = false;
        every_line(&self.role.lines, &mut |line| {
            found |= self.waits(line, ring).is_some()
        });
        found
    }

    /// Whether lines affect the phases of a ring.
    pub(super) fn touches(&self, lines: &[Line], ring: &Ring) -> bool {
        let mut found = false;
        every_line(lines, &mut |line| {
            found |= self.arrives(line, ring).is_some() || self.waits(line, ring).is_some();
        });
        found
    }

    pub(super) fn waits<'l>(
        &self,
        line: &'l Line,
        ring: &Ring,
    ) -> Option<(&'l Object, &'l Number)> {
        match line {
            Line::Action {
                action: Action::WaitOwn { object, number, .. },
                ..
            } => self.hits(object, ring).then_some((object, number)),
            _ => None,
        }
    }
}
