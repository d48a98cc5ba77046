//! The processes of a member: one for its program, and one that lands its operations in flight.

use std::fmt::Write as _;

use crate::protocol::Protocol;
use crate::semantics::instance::Instance;
use crate::semantics::instance::Op;
use crate::semantics::instance::OpKind;
use crate::witness::describe;

use super::cell::Cells;
use super::launch::Launches;
use super::operation::Step;

/// The continuation after an undefined operation. It never ends, whatever the other processes do. (It is an
/// assignment because SPIN refuses a loop that does nothing.)
pub const LOST: &str = "do :: undefined = 1 od";

/// The bodies of a member's processes.
pub struct Processes {
    /// Its operations; empty if it has finished from the start.
    pub program: String,
    /// The process for the landing of its asynchronous operations; empty if it has none.
    pub landing: String,
    /// How many of its operations put something in flight.
    pub in_flight: usize,
}

/// The array that says which of a member's asynchronous operations are in flight.
pub fn flying(instance: &Instance, member: usize) -> String {
    let role = &instance.roles[instance.members[member].role].name;
    format!("{role}_{member}_flying")
}

/// The processes of a member.
pub fn processes(
    protocol: &Protocol,
    instance: &Instance,
    cells: &Cells<'_>,
    launches: &Launches<'_>,
    member: usize,
) -> Processes {
    let ops = &instance.members[member].ops;
    let line = |op: &Op| {
        let span = instance.spans.get(op.stmt.0).copied().unwrap_or_default();
        describe::line(&protocol.source, span)
    };
    let flying = flying(instance, member);
    let mut program = String::new();
    if let Some(start) = launches.start(member) {
        let step = Step {
            guard: Some(start.guard),
            effect: start.effect,
            ..Step::default()
        };
        program.push_str("    /* starts */\n");
        write_step(&step, &[], &mut program);
    }
    let mut launched: Vec<Op> = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let step = match op.kind {
            OpKind::Copy(_) | OpKind::Commit => {
                launched.push(*op);
                Step {
                    effect: vec![format!("{flying}[{}] = 1", launched.len() - 1)],
                    ..Step::default()
                }
            }
            _ => cells.step(member, op),
        };
        let last = number + 1 == ops.len();
        let end: Vec<String> = launches.end(member).filter(|_| last).into_iter().collect();
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            program,
            "    /* line {}, {} */",
            line(op),
            instance.cell_name(op.cell)
        );
        write_step(&step, &end, &mut program);
    }
    Processes {
        program,
        landing: landing(cells, member, &launched, &flying),
        in_flight: launched.len(),
    }
}

/// Writes a step. `end` is what the last operation does in addition.
fn write_step(step: &Step, end: &[String], into: &mut String) {
    let mut effect = step.effect.clone();
    let end = end.join("; ");
    if step.then.is_none() && !end.is_empty() {
        effect.push(end.clone());
    }
    let body = guarded(step.guard.as_deref(), &effect);
    let _ = match &step.undefined {
        None => writeln!(into, "    {body};"),
        Some(undefined) => writeln!(
            into,
            "    if\n    :: {body}\n    :: atomic {{ {undefined} -> assert(false) }}; {LOST}\n    fi;"
        ),
    };
    let _ = match &step.then {
        None => Ok(()),
        Some(then) if end.is_empty() => writeln!(into, "    {then};"),
        Some(then) => writeln!(into, "    d_step {{ {then} -> {end} }};"),
    };
}

/// One step with this effect if the guard holds; it blocks otherwise.
fn guarded(guard: Option<&str>, effect: &[String]) -> String {
    let effect = effect.join("; ");
    match (guard, effect.as_str()) {
        (None, "") => "skip".to_owned(),
        (None, effect) => format!("d_step {{ {effect} }}"),
        (Some(guard), "") => guard.to_owned(),
        (Some(guard), effect) => format!("d_step {{ {guard} -> {effect} }}"),
    }
}

/// The process that lands what a member has in flight. Copies land in any order, and a commit lands after everything
/// before it. Once the previous commit has landed, only the operations since then have to be checked.
fn landing(cells: &Cells<'_>, member: usize, launched: &[Op], flying: &str) -> String {
    if launched.is_empty() {
        return String::new();
    }
    let mut text = String::from("end:\n    do\n");
    let mut since = 0;
    for (at, op) in launched.iter().enumerate() {
        let mut ready = format!("{flying}[{at}]");
        if op.kind == OpKind::Commit {
            for before in since..at {
                let _ = write!(ready, " && !{flying}[{before}]");
            }
            since = at;
        }
        let step = cells.step(member, op);
        let guard = match &step.guard {
            Some(guard) => format!("{ready} && ({guard})"),
            None => ready.clone(),
        };
        let mut effect = vec![format!("{flying}[{at}] = 0")];
        effect.extend(step.effect);
        let _ = writeln!(text, "    :: {}", guarded(Some(&guard), &effect));
        if let Some(undefined) = step.undefined {
            let _ = writeln!(
                text,
                "    :: atomic {{ {ready} && ({undefined}) -> assert(false) }}; {LOST}"
            );
        }
    }
    text.push_str("    od\n");
    text
}
