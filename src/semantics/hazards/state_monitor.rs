//! Checks a state for a violation of one property. The check also uses what the property needs to know about the
//! instance besides its operations, such as accesses and claims.

use crate::protocol::Property;
use crate::semantics::data::Access;
use crate::semantics::data::Data;
use crate::semantics::instance::Instance;
use crate::semantics::instance::OpKind;
use crate::semantics::step::State;

use super::Claims;
use super::Exits;
use super::Hazard;
use super::Lifetimes;
use super::Races;

/// Checks states of one instance for one property. The states have to keep history.
#[derive(Debug, Clone)]
pub enum StateMonitor<'i> {
    /// The property needs only the operations. A [`Monitor`](super::Monitor) checks it.
    Nothing,
    /// `race`.
    Races(Races<'i>),
    /// `assertion`.
    Claims(Claims<'i>),
    /// `resources`.
    Lifetimes(Lifetimes<'i>),
    /// `uninitialized`.
    Exits(Exits<'i>),
}

impl<'i> StateMonitor<'i> {
    /// Prepares the check of a property in an instance with this data.
    pub fn new(
        instance: &'i Instance,
        data: Option<&'i Data>,
        property: Property,
    ) -> StateMonitor<'i> {
        match (property, data) {
            (Property::Race, Some(data)) => StateMonitor::Races(Races::new(instance, data)),
            (Property::Assertion, Some(data)) => StateMonitor::Claims(Claims::new(instance, data)),
            (Property::Resources, Some(data)) => {
                StateMonitor::Lifetimes(Lifetimes::new(instance, data))
            }
            (Property::Uninitialized, Some(data)) => {
                StateMonitor::Exits(Exits::new(instance, data))
            }
            _ => StateMonitor::Nothing,
        }
    }

    /// The first violation in a state.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        match self {
            StateMonitor::Nothing => None,
            StateMonitor::Races(races) => races.state(state),
            StateMonitor::Claims(claims) => claims.state(state),
            StateMonitor::Lifetimes(lifetimes) => lifetimes.state(state),
            StateMonitor::Exits(exits) => exits.state(state),
        }
    }

    /// A violation in the state after an action of this member. The state before had none. `kind` is the operation,
    /// if the action was one.
    pub fn after(&self, state: &State, member: usize, kind: Option<OpKind>) -> Option<Hazard> {
        match self {
            StateMonitor::Races(races) => races.after(state, member, kind),
            _ => self.state(state),
        }
    }

    /// All violations in a state. Races are listed one by one up to a limit; for any other property only the first
    /// violation is listed.
    pub fn all(&self, state: &State) -> Vec<Hazard> {
        match self {
            StateMonitor::Races(races) => races.all(state),
            _ => self.state(state).into_iter().collect(),
        }
    }

    /// The races, if the property is `race`.
    pub fn races(&self) -> Option<&Races<'i>> {
        match self {
            StateMonitor::Races(races) => Some(races),
            _ => None,
        }
    }

    /// An access that no state can show, if there is one.
    pub fn hidden(&self) -> Option<&'i Access> {
        match self {
            StateMonitor::Races(races) => races.hidden(),
            StateMonitor::Lifetimes(lifetimes) => lifetimes.hidden(),
            _ => None,
        }
    }
}
