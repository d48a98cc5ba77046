//! Replays a witness. Only the protocol and the file are used.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::data::Data;
use crate::semantics::error::RunError;
use crate::semantics::hazards;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::Judged;
use crate::semantics::hazards::search::Runs;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::step::StepError;
use crate::semantics::step::Violation;
use crate::semantics::step::ViolationKind;
use crate::semantics::unfold::Limits;
use crate::semantics::unfold::check_params;
use crate::semantics::unfold::instantiate_with;
use crate::text;
use crate::text::Narrowing;

use super::OrderEntry;
use super::SCHEMA;
use super::ScheduleEntry;
use super::Witness;
use super::hazard;
use super::record::blocked_entries;
use super::record::sha256_hex;
use super::record::unstarted_names;

/// A witness that has been replayed and holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The input of the witness.
    pub input: Input,
    /// The protocol at that input.
    pub instance: Instance,
    /// The actions.
    pub schedule: Vec<Action>,
    /// The property it violates.
    pub property: Property,
    /// The stuck state that the run ends in. If the last action is undefined, the state before it.
    pub state: State,
    /// The other run, if the violation is a difference between two runs.
    pub second: Option<Vec<Action>>,
    /// The hazard that is shown, if the property is not deadlock, and the data that the hazard refers to.
    pub hazard: Option<(Hazard, Option<Data>)>,
}

/// Why a witness does not hold. The messages are fragments that fit after "failed to replay: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// A file format that this program does not read.
    #[error("the witness has schema {0}, this program reads {SCHEMA}")]
    Schema(u32),
    /// A file of another program.
    #[error("the witness was written by `{0}`, not by warplock")]
    Tool(String),
    /// The digest in the file does not belong to the text in the file.
    #[error("the digest {recorded} is not that of the embedded text, which is {actual}")]
    Digest {
        /// The digest in the file.
        recorded: String,
        /// The digest of the text in the file.
        actual: String,
    },
    /// The protocol that the witness is replayed against has another text or name.
    #[error("the witness is about another protocol")]
    OtherProtocol,
    /// A recorded assumption has no meaning for the protocol.
    #[error("an assumption does not fit the protocol: {0}")]
    Assumption(String),
    /// The schedule violates another property than the file says.
    #[error("the schedule violates the property `{actual}`, not `{recorded}`")]
    OtherProperty {
        /// The property in the file.
        recorded: String,
        /// The property that the schedule violates.
        actual: &'static str,
    },
    /// A name that the protocol does not have.
    #[error("the protocol has no {what} `{name}` that takes a value")]
    Unknown {
        /// `parameter`, `pattern`, `object` or `role`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Something that the witness has to contain is missing.
    #[error("the {what} `{name}` is not given")]
    Missing {
        /// `parameter` or `pattern`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Something is given twice.
    #[error("{0} is given twice")]
    Twice(String),
    /// A row order that no loop of this run follows.
    #[error("the row order {0:?} plays no part")]
    UnusedOrder(OrderKey),
    /// The input does not run.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The member with this number does not have this name.
    #[error("action {position}: member {number} is not `{name}`")]
    MemberName {
        /// The action's position, from 0.
        position: usize,
        /// The member's number.
        number: usize,
        /// The name in the file.
        name: String,
    },
    /// An action that is not possible at this point.
    #[error("action {position} cannot happen: {action:?}")]
    NotEnabled {
        /// The action's position, from 0.
        position: usize,
        /// The action.
        action: Action,
    },
    /// An action whose effect is undefined.
    #[error("action {position} is undefined: {violation}")]
    Violation {
        /// The action's position, from 0.
        position: usize,
        /// What is undefined.
        violation: Violation,
    },
    /// The schedule ends neither in a stuck state nor in an over-arrival.
    #[error("the schedule ends neither in a stuck state nor in an over-arrival")]
    NoViolation,
    /// The runs do not violate the property that the file names.
    #[error("the runs show no violation of `{0}`")]
    NoHazard(String),
    /// The runs violate the property, but not as the file says.
    #[error("the runs show something else than the witness says they show")]
    OtherHazard,
    /// The final state is stuck, but the blocked members are not those that the file names.
    #[error("the members do not wait for what the witness says they wait for")]
    OtherBlocked,
}

/// Replays a witness against the protocol that its text and assumptions make.
pub fn replay(protocol: &Protocol, witness: &Witness) -> Result<Replayed, ReplayError> {
    check_header(protocol, witness)?;
    let input = input_of(protocol, witness)?;
    check_assumptions(protocol, witness, &input)?;
    let (instance, choices) = instantiate_with(protocol, &input, &Limits::default())?;
    let used: BTreeSet<&OrderKey> = choices.iter().map(|choice| &choice.key).collect();
    if let Some(key) = input.orders.keys().find(|key| !used.contains(key)) {
        return Err(ReplayError::UnusedOrder(key.clone()));
    }
    let schedule = schedule_of(&instance, &witness.schedule)?;
    let second = witness.second_schedule.as_ref();
    let second = second.map(|second| schedule_of(&instance, second));
    let second = second.transpose()?;
    let (property, state, hazard) = match &witness.hazard {
        None => {
            let (property, state) = run(&instance, &schedule)?;
            (property, state, None)
        }
        Some(shown) => {
            let property = Property::from_name(&witness.property)
                .ok_or_else(|| ReplayError::NoHazard(witness.property.clone()))?;
            let runs = Runs {
                first: schedule.clone(),
                second: second.clone(),
            };
            let (judged, data) = judged(protocol, &input, &instance, property, &runs)?;
            // If the last state shows several hazards, the witness says which one it is about.
            let all = [judged.hazard].into_iter().chain(judged.others);
            let entry = |h: &Hazard| hazard::entry(protocol, &instance, data.as_ref(), h);
            let mut same = all.filter(|hazard| entry(hazard) == *shown);
            let hazard = same.next().ok_or(ReplayError::OtherHazard)?;
            (property, judged.state, Some((hazard, data)))
        }
    };
    if property.name() != witness.property {
        return Err(ReplayError::OtherProperty {
            recorded: witness.property.clone(),
            actual: property.name(),
        });
    }
    if blocked_entries(protocol, &instance, &state) != witness.blocked
        || unstarted_names(&instance, &state) != witness.unstarted
    {
        return Err(ReplayError::OtherBlocked);
    }
    Ok(Replayed {
        input,
        instance,
        schedule,
        property,
        state,
        second,
        hazard,
    })
}

/// What runs show about a property other than deadlock, and the data that the hazard refers to.
pub(super) fn judged(
    protocol: &Protocol,
    input: &Input,
    instance: &Instance,
    property: Property,
    runs: &Runs,
) -> Result<(Judged, Option<Data>), ReplayError> {
    let data = hazards::wanted_data(protocol, property, input, &Limits::default())?;
    let second = runs.second.as_deref();
    let judged = hazards::judge(instance, data.as_ref(), property, &runs.first, second);
    let judged = judged.map_err(|(position, error)| match error {
        StepError::NotEnabled(action) => ReplayError::NotEnabled { position, action },
        StepError::Violation(violation) => ReplayError::Violation {
            position,
            violation,
        },
    })?;
    let judged = judged.ok_or_else(|| ReplayError::NoHazard(property.name().to_owned()))?;
    Ok((judged, data))
}

/// The property that a schedule violates, and a state: the stuck state that the schedule leads to, or the state
/// before its over-arrival.
pub(super) fn run(
    instance: &Instance,
    schedule: &[Action],
) -> Result<(Property, State), ReplayError> {
    let mut state = step::initial(instance);
    for (position, action) in schedule.iter().enumerate() {
        let is_last = position + 1 == schedule.len();
        match step::apply(instance, &mut state, *action) {
            Ok(()) => {}
            Err(StepError::NotEnabled(action)) => {
                return Err(ReplayError::NotEnabled { position, action });
            }
            Err(StepError::Violation(violation)) => match violation.kind {
                ViolationKind::OverArrival { .. } if is_last => {
                    return Ok((Property::OverArrival, state));
                }
                _ => {
                    return Err(ReplayError::Violation {
                        position,
                        violation,
                    });
                }
            },
        }
    }
    if !step::is_stuck(instance, &state) {
        return Err(ReplayError::NoViolation);
    }
    Ok((Property::Deadlock, state))
}

fn check_header(protocol: &Protocol, witness: &Witness) -> Result<(), ReplayError> {
    if witness.schema != SCHEMA {
        return Err(ReplayError::Schema(witness.schema));
    }
    if witness.tool != "warplock" {
        return Err(ReplayError::Tool(witness.tool.clone()));
    }
    let actual = sha256_hex(witness.source.as_bytes());
    if witness.source_sha256 != actual {
        return Err(ReplayError::Digest {
            recorded: witness.source_sha256.clone(),
            actual,
        });
    }
    if witness.source != protocol.source || witness.protocol != protocol.name {
        return Err(ReplayError::OtherProtocol);
    }
    Ok(())
}

/// The assumptions are a part of the claim. So they have to hold at the input, even if the protocol at hand was
/// loaded without them.
fn check_assumptions(
    protocol: &Protocol,
    witness: &Witness,
    input: &Input,
) -> Result<(), ReplayError> {
    let narrowing = Narrowing {
        assume: witness.assumptions.clone(),
        ..Narrowing::default()
    };
    let mut narrowed = protocol.clone();
    text::narrow(&mut narrowed, &narrowing).map_err(|findings| {
        let messages: Vec<String> = findings.into_iter().map(|f| f.message).collect();
        ReplayError::Assumption(messages.join("; "))
    })?;
    Ok(check_params(&narrowed, &input.params)?)
}

fn input_of(protocol: &Protocol, witness: &Witness) -> Result<Input, ReplayError> {
    let missing = |what, name: &str| ReplayError::Missing {
        what,
        name: name.to_owned(),
    };
    let mut input = Input::default();
    for param in &protocol.params {
        let value = witness.parameters.get(&param.name);
        input
            .params
            .push(*value.ok_or_else(|| missing("parameter", &param.name))?);
    }
    for name in witness.parameters.keys() {
        position("parameter", name, protocol.params.iter().map(|p| &p.name))?;
    }
    for pattern in &protocol.patterns {
        let given = witness.patterns.get(&pattern.name);
        let entries: BTreeSet<Vec<i64>> = match (&pattern.definition, given) {
            (None, Some(entries)) => entries.iter().cloned().collect(),
            (None, None) => return Err(missing("pattern", &pattern.name)),
            (Some(_), _) => BTreeSet::new(),
        };
        if given.is_some_and(|given| given.len() > entries.len()) {
            return Err(ReplayError::Twice(format!(
                "an entry of `{}`",
                pattern.name
            )));
        }
        input.patterns.push(entries);
    }
    let open = protocol.patterns.iter().filter(|p| p.definition.is_none());
    for name in witness.patterns.keys() {
        position("pattern", name, open.clone().map(|p| &p.name))?;
    }
    for entry in &witness.orders {
        let (key, order) = order_of(protocol, entry)?;
        if input.orders.insert(key, order).is_some() {
            return Err(ReplayError::Twice("the order of a row".to_owned()));
        }
    }
    for start in &witness.initial {
        let objects = protocol.objects.iter().map(|o| &o.name);
        let object = position("object", &start.object, objects)?;
        let key = (object, start.index.clone());
        if input.initial.insert(key, start.value).is_some() {
            return Err(ReplayError::Twice(format!(
                "a start value of `{}`",
                start.object
            )));
        }
    }
    Ok(input)
}

fn order_of(protocol: &Protocol, entry: &OrderEntry) -> Result<(OrderKey, Vec<i64>), ReplayError> {
    Ok(match entry {
        OrderEntry::Row {
            pattern,
            row,
            order,
        } => {
            let patterns = protocol.patterns.iter().map(|p| &p.name);
            let key = OrderKey::Row {
                pattern: position("pattern", pattern, patterns)?,
                row: row.clone(),
            };
            (key, order.clone())
        }
        OrderEntry::Loop {
            statement,
            role,
            member,
            run,
            order,
        } => {
            let roles = protocol.roles.iter().map(|r| &r.name);
            let key = OrderKey::Loop {
                stmt: *statement,
                role: position("role", role, roles)?,
                member: member.clone(),
                run: *run,
            };
            (key, order.clone())
        }
    })
}

fn position<'n>(
    what: &'static str,
    name: &str,
    mut names: impl Iterator<Item = &'n String>,
) -> Result<usize, ReplayError> {
    names
        .position(|known| known == name)
        .ok_or_else(|| ReplayError::Unknown {
            what,
            name: name.to_owned(),
        })
}

fn schedule_of(instance: &Instance, entries: &[ScheduleEntry]) -> Result<Vec<Action>, ReplayError> {
    let mut schedule = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        let (action, name) = match entry {
            ScheduleEntry::Launch { launch, member } => (Action::Launch(*launch), member),
            ScheduleEntry::Step { step, member } => (Action::Step(*step), member),
            ScheduleEntry::Land {
                land,
                position,
                member,
            } => (Action::Land(*land, *position), member),
        };
        if instance.member_name(action.member()) != *name {
            return Err(ReplayError::MemberName {
                position,
                number: action.member(),
                name: name.clone(),
            });
        }
        schedule.push(action);
    }
    Ok(schedule)
}
