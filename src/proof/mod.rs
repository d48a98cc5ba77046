//! Proof search: guessing why a protocol cannot get stuck.
//!
//! Each rule of [`crate::certificate`] has a guesser here. It looks for an argument that fits
//! random small instances, and has the checker try what fits. A result counts only once it is
//! written down as a certificate and checked against the protocol's text.

mod arriver;
mod case_split;
mod credit;
mod cut;
pub mod empty;
mod model;
mod order;
pub mod sample;
mod separation;
pub mod suspects;
mod ticket;
mod trusted;
mod turns;
pub mod vacuity;

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use crate::certificate;
use crate::certificate::argument::Argument;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::cut::artefact::Shows;
use crate::certificate::discharge;
use crate::certificate::discharge::Answer;
use crate::certificate::discharge::Solver;
use crate::certificate::normal;
use crate::certificate::obligation::Obligation;
use crate::certificate::program::Unsupported;
use crate::deadline;
use crate::protocol::Domain;
use crate::protocol::ObjectKind;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;

/// How many random instances a guess has to survive.
const SAMPLES: usize = 250;

/// Which part of the time the first search for an order may take, as a divisor. The search mostly
/// ends earlier, by its limit on work, so that the outcome is the same on a busy machine.
pub const ORDER_SHARE: u32 = 2;

/// The outcome of a search for an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Guess {
    /// The checker proves this one.
    Found(Argument),
    /// This one fits every sample. The checker has not been asked to prove it.
    Fitting(Argument),
    /// None was found.
    Nothing {
        /// Why, as a lowercase sentence fragment.
        reason: String,
        /// Parameter values at which the search suspects a counterexample. None of them is checked.
        suspects: Vec<Vec<i64>>,
    },
}

impl Guess {
    /// No argument, for this reason, and no suspicion.
    pub fn nothing(reason: impl Into<String>) -> Guess {
        Guess::Nothing {
            reason: reason.into(),
            suspects: Vec::new(),
        }
    }
}

/// A way of looking for an argument, from cheap to general.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Invariants over counters, for the trusted kernel.
    Kernel,
    /// Ranks, which exclude a cycle of waits. For any number of loops and roles, with mbarriers and barriers.
    Order,
    /// Closed forms and cuts. For any number of loops and roles, without resets.
    Cuts(Shows),
    /// One order of a grid's CTAs that works for every semaphore.
    Ticket,
    /// Numbered turns at every semaphore.
    Turns,
    /// Each wait is for additions that never depend on this wait.
    Credit,
    /// One argument for what CTAs share, and one for what each CTA has to itself.
    Separation,
    /// The work of the member that arrives last, separate from all else.
    Arriver,
    /// One argument for the small values of a parameter, and one for all others.
    CaseSplit(Property),
}

impl Layer {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Kernel => "kernel",
            Layer::Order => "order",
            Layer::Cuts(_) => "cut",
            Layer::Ticket => "ticket",
            Layer::Turns => "turn",
            Layer::Credit => "credit",
            Layer::Separation => "separation",
            Layer::CaseSplit(_) => "case",
            Layer::Arriver => "arriver",
        }
    }

    /// Whether the reason for finding no argument in this layer is about the whole protocol, and not about a part of
    /// the domain.
    pub fn is_of_the_whole(self) -> bool {
        !matches!(self, Layer::CaseSplit(_))
    }
}

/// The layers that may apply to a protocol, in the order in which they are worth trying. The
/// trusted kernel is not among them: it is used only on request.
pub fn layers(protocol: &Protocol) -> Vec<Layer> {
    // No other rule covers an operation that reads and changes a semaphore in one step, unless the
    // normal form has none.
    if protocol.atomic().is_some() {
        let normal = normal::normal(protocol);
        if normal.atomic().is_none() {
            return layers(&normal);
        }
        let apart = certificate::arriver::apart(protocol);
        return apart.map_or(Vec::new(), |_| vec![Layer::Arriver]);
    }
    let semaphores = protocol
        .objects
        .iter()
        .all(|object| matches!(object.kind, ObjectKind::Semaphore(_)));
    let grid = protocol.roles.iter().any(|role| role.launch.is_some());
    let mut all = Vec::new();
    if protocol.patterns.is_empty() {
        all.extend([Layer::Order, Layer::Cuts(Shows::Nothing)]);
    }
    if grid && semaphores {
        all.extend([Layer::Ticket, Layer::Turns]);
    }
    if semaphores && protocol.patterns.is_empty() {
        all.push(Layer::Credit);
    }
    if certificate::separation::parts(protocol).is_ok() {
        all.push(Layer::Separation);
    }
    all.push(if protocol.patterns.is_empty() {
        Layer::CaseSplit(Property::Deadlock)
    } else {
        Layer::Cuts(Shows::Nothing)
    });
    all
}

/// The trusted kernel, if it may prove a property.
pub fn kernel_for(property: Property) -> Option<Layer> {
    crate::trusted::proves(property).then_some(Layer::Kernel)
}

/// The layers that may apply to another property of a protocol.
pub fn layers_for(protocol: &Protocol, property: Property) -> Vec<Layer> {
    if protocol.atomic().is_some() {
        return Vec::new();
    }
    if property == Property::Assertion && certificate::claims::follow_from_progress(protocol) {
        return layers(protocol);
    }
    let plain = protocol.patterns.is_empty();
    let order = plain && certificate::order::proves(protocol, property);
    let mut all = Shows::ALL.into_iter();
    let least = all.find(|shows| certificate::cut::proves(protocol, *shows, property));
    let data = |shows: &Shows| !matches!(shows, Shows::Nothing | Shows::Generations);
    let least = least.filter(|shows| plain || !data(shows));
    let order = order.then_some(Layer::Order).into_iter();
    let mut all: Vec<Layer> = order.chain(least.map(Layer::Cuts)).collect();
    if plain && !all.is_empty() {
        all.push(Layer::CaseSplit(property));
    }
    all
}

/// Looks for an argument in one layer. `tell` is told what is being tried.
pub fn search(
    protocol: &Protocol,
    layer: Layer,
    limit: Duration,
    cancel: Option<&AtomicBool>,
    tell: &(dyn Fn(&str) + Sync),
) -> Guess {
    let deadline = deadline::after(limit);
    let normal = match layer {
        // The kernel reads the text as it stands, and the arriver rule needs the operations that
        // return a value.
        Layer::Kernel | Layer::Arriver => Cow::Borrowed(protocol),
        _ => Cow::Owned(normal::normal(protocol)),
    };
    deadline::until(deadline, || {
        search_until(&normal, layer, (deadline, limit), cancel, tell)
    })
}

fn search_until(
    protocol: &Protocol,
    layer: Layer,
    (deadline, limit): (Instant, Duration),
    cancel: Option<&AtomicBool>,
    tell: &(dyn Fn(&str) + Sync),
) -> Guess {
    let samples = || {
        tell("sampling instances");
        sample::instances(protocol, SAMPLES, 0)
    };
    match layer {
        Layer::Kernel => trusted::guess(protocol, deadline, tell),
        Layer::Order => order::guess(protocol, deadline, cancel, tell),
        Layer::Cuts(shows) => cut::guess(protocol, shows, None, deadline, tell),
        Layer::Ticket => ticket::guess(protocol, &samples(), deadline, tell),
        Layer::Turns => turns::guess(protocol, &samples(), deadline, tell),
        Layer::Credit => credit::guess(protocol, deadline, tell),
        Layer::Separation => separation::argue(protocol, limit, tell),
        Layer::Arriver => arriver::argue(protocol, limit, tell),
        Layer::CaseSplit(property) => case_split::argue(protocol, property, deadline, cancel, tell),
    }
}

/// Looks for cuts that show `shows`, beginning with those of `base`. These were found for the same
/// protocol and show something else.
pub fn search_cuts(
    protocol: &Protocol,
    shows: Shows,
    base: Option<&Cut>,
    limit: Duration,
    tell: &dyn Fn(&str),
) -> Guess {
    let deadline = deadline::after(limit);
    let protocol = &normal::normal(protocol);
    deadline::until(deadline, || {
        cut::guess(protocol, shows, base, deadline, tell)
    })
}

/// Looks for an argument in one layer after another, and returns the first one found. If there is none, the reason is
/// that of the first layer that applies.
pub fn guess(protocol: &Protocol, limit: Duration, tell: &(dyn Fn(&str) + Sync)) -> Guess {
    let deadline = deadline::after(limit);
    let mut reasons = Vec::new();
    for layer in layers(protocol) {
        let left = deadline.saturating_duration_since(Instant::now());
        match search(protocol, layer, left, None, tell) {
            Guess::Nothing { reason, .. } => reasons.push(reason),
            found => return found,
        }
    }
    let none = || "no proof rule covers such a protocol".to_owned();
    Guess::nothing(reasons.into_iter().next().unwrap_or_else(none))
}

/// Whether the whole grid is resident in every sample.
fn whole_grid_fits(samples: &[(Input, Instance)]) -> bool {
    samples.iter().all(|(_, instance)| {
        instance.roles.iter().all(|role| {
            let resident = role.launch.as_ref().and_then(|plan| plan.resident);
            resident.is_none_or(|places| places >= role.members.len())
        })
    })
}

/// How to treat parameters whose domain lists its values: first symbolically (`false`), then one value at a time
/// (`true`).
fn listed_splits(protocol: &Protocol) -> Vec<bool> {
    let listed = protocol
        .params
        .iter()
        .any(|param| matches!(param.domain, Domain::Set(_)));
    if listed {
        vec![false, true]
    } else {
        vec![false]
    }
}

/// Whether the checker proves every obligation of an argument.
fn accepted(
    protocol: &Protocol,
    argument: &Argument,
    split: bool,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let obligations = argument
        .obligations(protocol)
        .map_err(uncovered_in(protocol))?;
    discharged(&obligations, split, deadline, tell)
}

/// Whether the checker proves these obligations.
fn discharged(
    obligations: &[Obligation],
    split: bool,
    deadline: Instant,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    // One hard obligation must not use up the time of the other candidates.
    let each = if split {
        Duration::from_secs(10)
    } else {
        Duration::from_secs(4)
    };
    for obligation in obligations {
        tell(&obligation.meaning);
        let left = deadline.saturating_duration_since(Instant::now()).min(each);
        match discharge::discharge(obligation, &Solver::BuiltIn, left) {
            Answer::Discharged => {}
            Answer::Fails => {
                return Err(format!(
                    "this step does not hold: {}",
                    obligation.meaning.trim_end_matches('.')
                ));
            }
            Answer::Unknown(why) => {
                return Err(format!(
                    "the solver could not decide ({why}) that {}",
                    obligation.meaning.trim_end_matches('.')
                ));
            }
        }
    }
    Ok(())
}

/// Why a rule does not apply, as a lowercase fragment.
fn uncovered(refused: Unsupported) -> String {
    if refused.is_late() {
        return refused.reason;
    }
    format!("no proof rule covers {refused}")
}

/// As [`uncovered`], with the first line of the statement or role that the refusal is about.
fn uncovered_in(protocol: &Protocol) -> impl Fn(Unsupported) -> String {
    |refused| {
        let at = refused.span.filter(|_| !refused.is_late());
        let text = at.and_then(|at| protocol.source.get(at.start..at.end));
        let first = text.and_then(|text| text.lines().next()).unwrap_or("");
        let first = first.trim_end_matches(|c: char| c.is_whitespace() || c == '{');
        let reason = uncovered(refused);
        match first.is_empty() || reason.contains(first) {
            true => reason,
            false => format!("{reason}: `{first}`"),
        }
    }
}
