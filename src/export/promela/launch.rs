//! The starts of the members of a grid, and the places that they take.

use std::fmt::Write as _;

use crate::semantics::instance::Instance;

/// The roles whose members may have to wait for a place, and the variables that count places.
pub struct Launches<'i> {
    instance: &'i Instance,
    /// Per role: how many members may be resident, if this can make a member wait.
    places: Vec<Option<usize>>,
}

/// The step in which a member starts.
pub struct Start {
    pub guard: String,
    pub effect: Vec<String>,
}

impl<'i> Launches<'i> {
    pub fn new(instance: &'i Instance) -> Launches<'i> {
        let places = instance.roles.iter().map(|role| {
            let resident = role.launch.as_ref()?.resident?;
            (resident < role.members.len()).then_some(resident)
        });
        Launches {
            instance,
            places: places.collect(),
        }
    }

    fn name(&self, role: usize) -> String {
        format!("{}_{role}", self.instance.roles[role].name)
    }

    /// The order in which members of a role start, if the order matters.
    fn order(&self, role: usize) -> Option<&[usize]> {
        let plan = self.instance.roles[role].launch.as_ref()?;
        plan.order.as_deref()
    }

    /// The step in which a member starts, if it may have to wait for a place.
    pub fn start(&self, member: usize) -> Option<Start> {
        let role = self.instance.members[member].role;
        let places = self.places[role]?;
        let name = self.name(role);
        let mut start = Start {
            guard: format!("{name}_running < {places}"),
            effect: Vec::new(),
        };
        if let Some(order) = self.order(role) {
            let turn = order.iter().position(|other| *other == member)?;
            start.guard = format!("{name}_started == {turn} && {}", start.guard);
            start.effect.push(format!("{name}_started++"));
        }
        if !self.instance.members[member].ops.is_empty() {
            start.effect.push(format!("{name}_running++"));
        }
        Some(start)
    }

    /// What the last operation of a member does in addition.
    pub fn end(&self, member: usize) -> Option<String> {
        let role = self.instance.members[member].role;
        self.places[role]?;
        Some(format!("{}_running--", self.name(role)))
    }

    pub fn declarations(&self) -> String {
        let mut text = String::new();
        for (role, places) in self.places.iter().enumerate() {
            if places.is_some() {
                let name = self.name(role);
                if self.order(role).is_some() {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "short {name}_started;");
                }
                let _ = writeln!(text, "short {name}_running;");
            }
        }
        text
    }

    pub fn bytes(&self) -> usize {
        4 * self.places.iter().flatten().count()
    }
}
