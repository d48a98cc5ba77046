//! Arguments: which rule proves a property, and what the rule needs besides the text.

use super::arriver;
use super::arriver::Arriver;
use super::case_split;
use super::case_split::CaseSplit;
use super::claims;
use super::credit;
use super::credit::Credit;
use super::cut;
use super::cut::artefact::Cut;
use super::defined;
use super::exhaustive::Exhaustive;
use super::grid::Residency;
use super::normal;
use super::obligation::Obligation;
use super::order;
use super::order::artefact::Order;
use super::program::Unsupported;
use super::separation;
use super::separation::Separation;
use super::ticket;
use super::ticket::Ticket;
use super::turns;
use super::turns::Turns;
use crate::protocol::ATOMIC;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::hazards;
use crate::trusted;
use crate::trusted::certificate::Certificate as Kernel;
use crate::trusted::events;
use crate::trusted::events::certificate::Events;
use serde::Deserialize;
use serde::Serialize;

/// A rule and what makes it applicable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "rule",
    content = "artefact",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Argument {
    /// See [`crate::trusted`].
    Kernel(Kernel),
    /// See [`crate::trusted::events`].
    Waits(Events),
    /// See [`super::ticket`].
    Ticket(Ticket),
    /// See [`super::turns`].
    Turns(Turns),
    /// See [`super::credit`].
    Credit(Credit),
    /// See [`super::cut`].
    Cut(Cut),
    /// See [`super::order`].
    Order(Order),
    /// See [`super::separation`].
    Separation(Separation),
    /// See [`super::case_split`].
    CaseSplit(CaseSplit),
    /// See [`super::arriver`].
    Arriver(Arriver),
    /// See [`super::exhaustive`].
    Exhaustive(Exhaustive),
}

impl Argument {
    /// Why a CTA that has not started yet does no harm. `None` if no CTA has to wait for a place.
    pub(super) fn residency(&self) -> Option<Residency> {
        match self {
            Argument::Ticket(ticket) => Some(ticket.residency),
            Argument::Turns(turns) => Some(turns.residency),
            Argument::Credit(credit) if credit.residency == Residency::LaunchOrder => {
                Some(Residency::LaunchOrder)
            }
            Argument::Waits(waits) => Some(match waits.whole.contains(&true) {
                true => Residency::WholeGrid,
                false => Residency::LaunchOrder,
            }),
            // If there is a launch, it has to make the whole grid resident.
            Argument::CaseSplit(_)
            | Argument::Arriver(_)
            | Argument::Kernel(_)
            | Argument::Credit(_)
            | Argument::Cut(_)
            | Argument::Order(_)
            | Argument::Separation(_)
            | Argument::Exhaustive(_) => None,
        }
    }

    /// Why a CTA that has not started yet does no harm. `None` if the rule itself shows that it never does. This has
    /// no meaning without a grid.
    pub(super) fn places(&self, protocol: &Protocol) -> Option<Residency> {
        match self {
            Argument::Credit(credit) => credit::residency(protocol, credit),
            Argument::Arriver(arriver) => match arriver::apart(protocol) {
                Ok(apart) => arriver.argument.places(&apart),
                Err(_) => Some(Residency::WholeGrid),
            },
            // The residency in the certificate matters only for grids that are not completely resident.
            Argument::Waits(waits) => {
                let mut roles = protocol.roles.iter().enumerate();
                let late = roles.any(|(number, role)| waits.starts_late(number, role));
                Some(match late {
                    true => Residency::LaunchOrder,
                    false => Residency::WholeGrid,
                })
            }
            _ => Some(self.residency().unwrap_or(Residency::WholeGrid)),
        }
    }

    /// Derives the obligations of the rule for a protocol in normal form.
    ///
    /// # Errors
    ///
    /// A protocol that the rule does not cover, or an artefact that does not fit it.
    pub fn obligations(&self, protocol: &Protocol) -> Result<Vec<Obligation>, Unsupported> {
        if !matches!(self, Argument::Arriver(_)) {
            refuse_atomics(protocol)?;
        }
        match self {
            Argument::Kernel(kernel) => trusted::obligations(protocol, kernel),
            Argument::Waits(waits) => events::obligations(protocol, waits),
            Argument::Ticket(ticket) => ticket::obligations(protocol, ticket),
            Argument::Turns(turns) => turns::obligations(protocol, turns),
            Argument::Credit(credit) => credit::obligations(protocol, credit),
            Argument::Cut(cut) => cut::obligations(protocol, cut),
            Argument::Order(order) => order::obligations(protocol, order),
            Argument::Separation(parts) => separation::obligations(protocol, parts),
            Argument::CaseSplit(split) => case_split::obligations(protocol, split),
            Argument::Arriver(arriver) => arriver::obligations(protocol, arriver),
            // A search covers the whole protocol. It is made when a certificate is checked.
            Argument::Exhaustive(_) => Err(Unsupported::whole("a search inside another argument")),
        }
    }

    /// The obligations of the rule for the [normal form](super::normal) of a protocol. Also the
    /// obligations that what the untouched text evaluates is defined.
    ///
    /// # Errors
    ///
    /// A protocol that the rule does not cover, or an artefact that does not fit it.
    pub fn all_obligations(&self, protocol: &Protocol) -> Result<Vec<Obligation>, Unsupported> {
        match self {
            Argument::Exhaustive(_) => return Ok(Vec::new()),
            // The trusted kernel reads the original text, and states itself what has to be defined. So does the
            // arriver rule.
            Argument::Kernel(_) | Argument::Waits(_) | Argument::Arriver(_) => {
                return self.obligations(protocol);
            }
            _ => {}
        }
        let mut all = self.obligations(&normal::normal(protocol))?;
        all.extend(self.text_defined(protocol)?);
        Ok(all)
    }

    /// The obligations that every expression which the original text evaluates is defined: see [`defined`].
    pub(super) fn text_defined(&self, protocol: &Protocol) -> Result<Vec<Obligation>, Unsupported> {
        match self {
            Argument::Separation(_) => {
                let kept = separation::evaluated_as_written(protocol)?;
                defined::obligations(protocol, &|stmt| kept.contains(&stmt.id))
            }
            _ => defined::obligations(protocol, &|_| true),
        }
    }

    /// Whether the argument, once its obligations are discharged, proves a property.
    pub fn proves(&self, protocol: &Protocol, property: Property) -> bool {
        // The rule is about a protocol in which other operations replace those that return a value. The replacement
        // gets stuck if the original does. Nothing else is known about it.
        let replaced = !matches!(self, Argument::Exhaustive(_)) && protocol.atomic().is_some();
        if replaced && property != Property::Deadlock {
            return false;
        }
        match self {
            Argument::Cut(cut) => cut::proves(protocol, cut.shows, property),
            Argument::Order(order) if order::proves_by(protocol, order, property) => true,
            Argument::Separation(parts) => separation::proves(protocol, parts, property),
            Argument::CaseSplit(split) => case_split::proves(protocol, split, property),
            Argument::Arriver(arriver) => arriver::proves(protocol, arriver, property),
            Argument::Exhaustive(_) => true,
            Argument::Kernel(_) if trusted::proves(property) => {
                !hazards::wants_data(protocol, property)
            }
            _ => match property {
                Property::Deadlock => true,
                Property::Assertion => claims::follow_from_progress(protocol),
                _ => false,
            },
        }
    }

    /// The rule's name.
    pub fn rule(&self) -> &'static str {
        match self {
            Argument::Kernel(_) | Argument::Waits(_) => "kernel",
            Argument::Ticket(_) => "ticket",
            Argument::Turns(_) => "turn",
            Argument::Credit(_) => "credit",
            Argument::Cut(_) => "cut",
            Argument::Order(_) => "order",
            Argument::Separation(_) => "separation",
            Argument::CaseSplit(_) => "case",
            Argument::Arriver(_) => "arriver",
            Argument::Exhaustive(_) => "exhaustive",
        }
    }

    /// The checker of the argument, one of [`CHECKERS`].
    pub fn checker(&self) -> &'static str {
        match self {
            Argument::Kernel(_) | Argument::Waits(_) => "kernel",
            Argument::Ticket(_) => "ticket rule",
            Argument::Turns(_) => "turn rule",
            Argument::Credit(_) => "credit rule",
            Argument::Cut(_) => "cut rule",
            Argument::Order(_) => "order rule",
            Argument::Separation(_) => "separation rule",
            Argument::CaseSplit(_) => "case rule",
            Argument::Arriver(_) => "arriver rule",
            Argument::Exhaustive(_) => "exhaustive search",
        }
    }

    /// What checks the argument: the trusted kernel, a rule with its obligations, or a search.
    pub fn checked_by(&self) -> String {
        match self {
            Argument::Kernel(_) | Argument::Waits(_) | Argument::Exhaustive(_) => {
                self.checker().to_owned()
            }
            _ => format!("rule {}", self.rule()),
        }
    }

    /// The extent of the search, if the argument is a search.
    pub fn searched(&self) -> Option<Exhaustive> {
        match self {
            Argument::Exhaustive(searched) => Some(*searched),
            _ => None,
        }
    }
}

/// The checkers of arguments, as words that fit after "the".
pub const CHECKERS: [&str; 10] = [
    "kernel",
    "ticket rule",
    "turn rule",
    "credit rule",
    "cut rule",
    "order rule",
    "separation rule",
    "case rule",
    "arriver rule",
    "exhaustive search",
];

/// No other rule has an argument for an operation that reads and changes a semaphore in one step.
fn refuse_atomics(protocol: &Protocol) -> Result<(), Unsupported> {
    match protocol.atomic() {
        Some(stmt) => Err(Unsupported::at(stmt.span, ATOMIC)),
        None => Ok(()),
    }
}
