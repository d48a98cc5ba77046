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
pub enum Told<'i> {
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

impl<'i> Told<'i> {
    /// What there is to look at for a property in an instance with this data.
    pub fn new(instance: &'i Instance, data: Option<&'i Data>, property: Property) -> Told<'i> {
        match (property, data) {
            (Property::Race, Some(data)) => Told::Races(Races::new(instance, data)),
            (Property::Assertion, Some(data)) => Told::Claims(Claims::new(instance, data)),
            (Property::Resources, Some(data)) => Told::Lifetimes(Lifetimes::new(instance, data)),
            (Property::Uninitialized, Some(data)) => Told::Exits(Exits::new(instance, data)),
            _ => Told::Nothing,
        }
    }

    /// The first violation in a state.
    pub fn state(&self, state: &State) -> Option<Hazard> {
        match self {
            Told::Nothing => None,
            Told::Races(races) => races.state(state),
            Told::Claims(claims) => claims.state(state),
            Told::Lifetimes(lifetimes) => lifetimes.state(state),
            Told::Exits(exits) => exits.state(state),
        }
    }

    /// A violation in a state that this member's action, of this kind if it was an operation, led to
    /// from one without.
    pub fn after(&self, state: &State, member: usize, kind: Option<OpKind>) -> Option<Hazard> {
        match self {
            Told::Races(races) => races.after(state, member, kind),
            _ => self.state(state),
        }
    }

    /// The violations in a state, as far as they are told apart.
    pub fn all(&self, state: &State) -> Vec<Hazard> {
        match self {
            Told::Races(races) => races.all(state),
            _ => self.state(state).into_iter().collect(),
        }
    }

    /// What races, if that is what is looked for.
    pub fn races(&self) -> Option<&Races<'i>> {
        match self {
            Told::Races(races) => Some(races),
            _ => None,
        }
    }

    /// An access that no state shows, if there is one.
    pub fn hidden(&self) -> Option<&'i Access> {
        match self {
            Told::Races(races) => races.hidden(),
            Told::Lifetimes(lifetimes) => lifetimes.hidden(),
            _ => None,
        }
    }
}
