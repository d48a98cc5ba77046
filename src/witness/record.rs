//! Makes a witness from a run.

use sha2::Digest;
use sha2::Sha256;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::data::Data;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::search::Runs;
use crate::semantics::input::Input;
use crate::semantics::input::OrderKey;
use crate::semantics::instance::Instance;
use crate::semantics::step;
use crate::semantics::step::Action;
use crate::semantics::step::State;
use crate::semantics::unfold::Choice;
use crate::semantics::unfold::Limits;
use crate::semantics::unfold::instantiate_with;

use super::BlockedEntry;
use super::OrderEntry;
use super::ReplayError;
use super::SCHEMA;
use super::ScheduleEntry;
use super::StartEntry;
use super::Witness;
use super::describe;
use super::hazard;
use super::replay::judged;
use super::replay::run;

/// The witness that a schedule makes the protocol hang at an input. Instead of a hang, the last action may be an
/// over-arrival: it arrives on an mbarrier that had fewer arrivals pending. Row orders that do not matter are left
/// out.
///
/// # Errors
///
/// The input does not run, or the schedule leads to neither.
pub fn record(
    protocol: &Protocol,
    input: &Input,
    schedule: &[Action],
) -> Result<Witness, ReplayError> {
    let (instance, choices) = instantiate_with(protocol, input, &Limits::default())?;
    let (property, state) = run(&instance, schedule)?;
    let seen = (&instance, choices.as_slice(), &state);
    Ok(witness(protocol, input, seen, property, schedule))
}

/// The witness that these runs violate a property other than deadlock at this input.
///
/// # Errors
///
/// The input does not run, or the runs show no violation.
pub fn record_hazard(
    protocol: &Protocol,
    input: &Input,
    property: Property,
    runs: &Runs,
) -> Result<Witness, ReplayError> {
    record_hazard_where(protocol, input, property, runs, &|_, _, _| true)
}

/// The same for the first violation that is `wanted`, among those that the last state of the runs shows.
///
/// # Errors
///
/// The input does not run, or the runs show no such violation.
pub fn record_hazard_where(
    protocol: &Protocol,
    input: &Input,
    property: Property,
    runs: &Runs,
    wanted: &dyn Fn(&Instance, Option<&Data>, &Hazard) -> bool,
) -> Result<Witness, ReplayError> {
    let (instance, choices) = instantiate_with(protocol, input, &Limits::default())?;
    let (judged, data) = judged(protocol, input, &instance, property, runs)?;
    let seen = (&instance, choices.as_slice(), &judged.state);
    let mut witness = witness(protocol, input, seen, property, &runs.first);
    let second = runs.second.as_ref();
    witness.second_schedule =
        second.map(|second| second.iter().map(|a| entry(&instance, *a)).collect());
    let mut all = [&judged.hazard].into_iter().chain(&judged.others);
    let shown = all.find(|hazard| wanted(&instance, data.as_ref(), hazard));
    let shown = shown.ok_or_else(|| ReplayError::NoHazard(property.name().to_owned()))?;
    let shown = hazard::entry(protocol, &instance, data.as_ref(), shown);
    witness.hazard = Some(shown);
    Ok(witness)
}

/// A witness that shows no hazard yet. `seen` consists of the instance, the row orders that it used, and the state
/// that the run leads to.
fn witness(
    protocol: &Protocol,
    input: &Input,
    (instance, choices, state): (&Instance, &[Choice], &State),
    property: Property,
    schedule: &[Action],
) -> Witness {
    let orders = choices.iter().filter_map(|choice| {
        let order = input.orders.get(&choice.key)?.clone();
        Some(match &choice.key {
            OrderKey::Row { pattern, row } => OrderEntry::Row {
                pattern: protocol.patterns[*pattern].name.clone(),
                row: row.clone(),
                order,
            },
            OrderKey::Loop {
                stmt,
                role,
                member,
                run,
            } => OrderEntry::Loop {
                statement: *stmt,
                role: protocol.roles[*role].name.clone(),
                member: member.clone(),
                run: *run,
                order,
            },
        })
    });
    let params = protocol.params.iter().map(|p| p.name.clone());
    let patterns = protocol.patterns.iter().zip(&input.patterns);
    let initial = input.initial.iter();
    let extra = protocol.assumptions.iter().filter(|a| a.span.is_none());
    Witness {
        schema: SCHEMA,
        tool: "warplock".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: protocol.name.clone(),
        source: protocol.source.clone(),
        source_sha256: sha256_hex(protocol.source.as_bytes()),
        assumptions: extra.map(|a| a.text.clone()).collect(),
        property: property.name().to_owned(),
        parameters: params.zip(input.params.iter().copied()).collect(),
        patterns: patterns
            .filter(|(pattern, _)| pattern.definition.is_none())
            .map(|(pattern, entries)| (pattern.name.clone(), entries.iter().cloned().collect()))
            .collect(),
        orders: orders.collect(),
        initial: initial
            .map(|((object, index), value)| StartEntry {
                object: protocol.objects[*object].name.clone(),
                index: index.clone(),
                value: *value,
            })
            .collect(),
        schedule: schedule.iter().map(|a| entry(instance, *a)).collect(),
        second_schedule: None,
        hazard: None,
        blocked: blocked_entries(protocol, instance, state),
        unstarted: unstarted_names(instance, state),
    }
}

/// The SHA-256 digest of some bytes as 64 lower case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn blocked_entries(
    protocol: &Protocol,
    instance: &Instance,
    state: &State,
) -> Vec<BlockedEntry> {
    let blocked = step::blocked(instance, state).into_iter();
    blocked
        .map(|b| {
            let span = instance.spans.get(b.op.stmt.0).copied().unwrap_or_default();
            BlockedEntry {
                member: instance.member_name(b.member),
                statement: b.op.stmt.0,
                line: describe::line(&protocol.source, span),
                object: instance.cell_name(b.op.cell),
                wants: describe::wanted(b.op.kind),
                value: describe::shown(instance, &b.cell),
            }
        })
        .collect()
}

pub(super) fn unstarted_names(instance: &Instance, state: &State) -> Vec<String> {
    let members = step::unstarted(state).into_iter();
    members.map(|m| instance.member_name(m)).collect()
}

fn entry(instance: &Instance, action: Action) -> ScheduleEntry {
    let member = instance.member_name(action.member());
    match action {
        Action::Launch(launch) => ScheduleEntry::Launch { launch, member },
        Action::Step(step) => ScheduleEntry::Step { step, member },
        Action::Land(land, position) => ScheduleEntry::Land {
            land,
            position,
            member,
        },
    }
}
