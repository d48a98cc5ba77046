//! Checks a state for a violation of one property, with the information about the instance that the property needs
//! besides the operations.

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

/// Looks at states of one instance, which have to keep history, for one property.
#[derive(Debug, Clone)]
pub enum StateMonitor<'i> {
    /// The operations are all there is to it.
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
    /// What there is to look at for a property in an instance with this data.
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

    /// A violation in a state that this member's action, of this kind if it was an operation, led to
    /// from one without.
    pub fn after(&self, state: &State, member: usize, kind: Option<OpKind>) -> Option<Hazard> {
        match self {
            StateMonitor::Races(races) => races.after(state, member, kind),
            _ => self.state(state),
        }
    }

    /// The violations in a state, as far as they are told apart.
    pub fn all(&self, state: &State) -> Vec<Hazard> {
        match self {
            StateMonitor::Races(races) => races.all(state),
            _ => self.state(state).into_iter().collect(),
        }
    }

    /// What races, if that is what is looked for.
    pub fn races(&self) -> Option<&Races<'i>> {
        match self {
            StateMonitor::Races(races) => Some(races),
            _ => None,
        }
    }

    /// An access that no state shows, if there is one.
    pub fn hidden(&self) -> Option<&'i Access> {
        match self {
            StateMonitor::Races(races) => races.hidden(),
            StateMonitor::Lifetimes(lifetimes) => lifetimes.hidden(),
            _ => None,
        }
    }
}
