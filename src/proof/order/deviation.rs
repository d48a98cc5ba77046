//! A short check before the search for an order: whether arrivals count in fixed generations.
//!
//! An order proof shows that no member waits in a cycle. It also shows that every arrival counts in the generation
//! that it is meant for. Suppose that a few states of a small instance show an arrival that counts in different
//! generations in different runs. Then there is no such proof, and the search for one would take long.

use crate::protocol::Domain;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::semantics::explore::Options;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::judge;
use crate::semantics::hazards::search;
use crate::semantics::inputs::Bounds;
use crate::semantics::inputs::Inputs;
use crate::semantics::unfold::Limits;

/// How far from the least values the instance lies.
const POSITION: i64 = 2;

/// The most states that are visited, and the most members and operations of the instance.
const STATES: u64 = 2_000;
const MEMBERS: u64 = 32;
const OPERATIONS: u64 = 1_000;

/// The operation that was seen in different generations, in words.
pub(super) fn deviates(protocol: &Protocol) -> Option<String> {
    let params = protocol.tightened().params;
    // A fixed parameter may be large, and the time must not depend on it.
    let fixed = |domain: &Domain| matches!(domain, Domain::Set(all) if all.len() == 1);
    if params.iter().any(|p| fixed(&p.domain)) {
        return None;
    }
    let params = params.iter().map(|p| p.domain.value_up_to(POSITION));
    let params: Vec<i64> = params.collect::<Option<_>>()?;
    let bounds = Bounds {
        limits: Limits {
            members: MEMBERS,
            ops: OPERATIONS,
            ..Limits::default()
        },
        ..Bounds::default()
    };
    let mut inputs = Inputs::new(protocol, &params, &bounds).ok()?;
    let (_, instance) = inputs.next()?.ok()?;
    let options = Options {
        max_states: STATES,
        ..Options::default()
    };
    let property = Property::EarlyCompletion;
    let runs = search::search(&instance, None, property, &options).found?;
    let second = runs.second.as_deref();
    let judged = judge(&instance, None, property, &runs.first, second).ok()??;
    let Hazard::Deviation { member, op, .. } = judged.hazard else {
        return None;
    };
    let stmt = instance.members[member].ops.get(op as usize)?.stmt;
    let span = instance.spans.get(stmt.0)?;
    let text = protocol.source.get(span.start..span.end)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let at = protocol.params.iter().zip(params);
    let at: Vec<String> = at
        .map(|(param, value)| format!(" {} = {value}", param.name))
        .collect();
    Some(format!(
        "in which phase of the barrier `{text}` of {} counts depends on the schedule{}{}",
        instance.member_name(member),
        if at.is_empty() { "" } else { ", at" },
        at.join(",")
    ))
}
