//! Writes an instance as a Promela model. SPIN's answer about the model is the answer of
//! [`explore`](crate::semantics::explore) about the instance.
//!
//! Each member is a process that executes its operations, and each operation is one atomic statement. Elements are
//! global variables. A separate process lands what is in flight; it may end at any time.
//!
//! # What corresponds
//!
//! *A stuck state* is a state in which nothing can be done and some member has not finished. In SPIN this is an
//! invalid end state. A process that waits to land something may end where it is (`end` label). A process that has
//! come to an undefined operation goes on for ever. So neither is counted as stuck.
//!
//! *A violation* fails an assertion. In the semantics, no state follows it. In the model, the process then loops. So
//! such a state is no end state, whatever the other processes do. Hence a search that ignores assertions (`pan -A`)
//! finds exactly the stuck states of the semantics, and a search that ignores end states (`pan -E`) finds the
//! violations.
//!
//! # Steps that differ
//!
//! - A member that blocks at a named barrier goes on in a step of its own after the generation has completed, and not
//!   within the completing step. Until then, the member could only go on: this step is always possible, and it only
//!   affects the member's own place among the resident ones.
//! - Members start in a step of their own only if the number of resident members is limited. Otherwise each can start
//!   at any time, and no member waits for it.
//!
//! Values are bounded: each operation of an instance is executed at most once, so the sum of all amounts bounds the
//! value of an element. If this sum does not fit 32 bits, the instance is refused.

mod cell;
mod launch;
mod member;
mod operation;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Refused;
use crate::protocol::Protocol;
use crate::report;
use crate::semantics::input::Input;
use crate::semantics::instance::Instance;

use cell::Cells;
use launch::Launches;

/// How many processes SPIN runs at most.
const MAX_PROCESSES: usize = 255;

/// The most operations of a model. SPIN's own tables end not far beyond.
const MAX_OPERATIONS: usize = 20_000;

/// The model of an instance. The instance has to be that of the protocol at the input.
///
/// # Errors
///
/// Refuses more members or operations than SPIN can hold, and values beyond 32 bits.
pub fn model(protocol: &Protocol, input: &Input, instance: &Instance) -> Result<String, Refused> {
    if let Some(stmt) = protocol.result() {
        let reason = "a role that goes on with the result of an atomic operation";
        return Err(Refused::at(Some(stmt.span), reason.to_owned()));
    }
    let operations = instance.op_count();
    if operations > MAX_OPERATIONS {
        let reason = format!("{operations} operations, and a model has at most {MAX_OPERATIONS}");
        return Err(Refused::at(None, reason));
    }
    let cells = Cells::new(protocol, instance)?;
    let launches = Launches::new(instance);
    // Members that do the same become one type of process.
    let mut bodies: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut flights = String::new();
    let mut bytes = cells.bytes() + launches.bytes();
    for member in 0..instance.members.len() {
        let processes = member::processes(protocol, instance, &cells, &launches, member);
        if processes.in_flight > 0 {
            let name = member::flying(instance, member);
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(flights, "bool {name}[{}];", processes.in_flight);
            bytes += processes.in_flight;
        }
        for body in [processes.program, processes.landing] {
            if !body.is_empty() {
                bodies.entry(body).or_default().push(member);
            }
        }
    }
    let count: usize = bodies.values().map(Vec::len).sum();
    if count > MAX_PROCESSES {
        let reason = format!("{count} processes, and SPIN runs at most {MAX_PROCESSES}");
        return Err(Refused::at(None, reason));
    }
    let mut text = header(protocol, input, bytes + 8 * count);
    text.push_str(&cells.declarations());
    text.push_str(&launches.declarations());
    text.push_str(&flights);
    if bodies.keys().any(|body| body.contains(member::LOST)) {
        text.push_str("bit undefined;\n");
    }
    let mut bodies: Vec<(String, Vec<usize>)> = bodies.into_iter().collect();
    bodies.sort_by(|a, b| a.1.cmp(&b.1));
    for (number, (body, members)) in bodies.iter().enumerate() {
        let role = &instance.roles[instance.members[members[0]].role].name;
        let copies = match members.len() {
            1 => String::new(),
            copies => format!("[{copies}] "),
        };
        let names: Vec<String> = members.iter().map(|m| instance.member_name(*m)).collect();
        let names = names.join(", ");
        let _ = write!(
            text,
            "\n/* {names} */\nactive {copies}proctype {role}_{number}() {{\n{body}}}\n"
        );
    }
    if bodies.is_empty() {
        text.push_str(
            "\n/* Nobody has anything to do. */\nactive proctype nobody() {\n    skip\n}\n",
        );
    }
    Ok(text)
}

fn header(protocol: &Protocol, input: &Input, bytes: usize) -> String {
    let at = match report::input::sentence(protocol, input) {
        values if values.is_empty() => String::new(),
        values => format!(" at {values}"),
    };
    let vector = (2 * bytes).next_multiple_of(1024);
    format!(
        "/* {}{at}\n\
         \x20*\n\
         \x20* spin -a MODEL && gcc -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ={vector} -o pan pan.c && ./pan -m1000000\n\
         \x20*\n\
         \x20* An invalid end state is a deadlock, a failed assertion an operation whose effect is\n\
         \x20* undefined. ./pan -A looks for the first alone, ./pan -E for the second alone. */\n\n",
        protocol.name
    )
}
