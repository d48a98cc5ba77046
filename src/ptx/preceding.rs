//! Reads of global memory that may come before `griddepcontrol.wait`.
//!
//! A grid that is launched as a programmatic dependent may begin before the preceding one has ended. What that one writes is there
//! behind `griddepcontrol.wait`, for the thread that executes it, and for those that meet it at a barrier afterwards. A read before
//! may see old values. It is right if the preceding grid does not write that memory. So this is a lint, and no property.
//!
//! A thread has waited behind the instruction, whatever way it comes. Where only some ways or lanes have come by it, all have waited
//! behind the next barrier of the CTA or the cluster.
//!
//! Source: PTX ISA, "griddepcontrol".

use std::collections::BTreeMap;

use super::path::flow::Flow;
use crate::ptx::syntax::ast::Function;
use crate::ptx::syntax::ast::Instruction;
use crate::ptx::warp::statement::Obstacle;

/// Which threads have waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Waited {
    All,
    Some,
    None,
}

/// The reads of global memory that may come before a wait, by their places in the code. Nothing in a kernel without one.
pub(in crate::ptx) fn early_reads(function: &Function<'_>) -> Result<Vec<usize>, Obstacle> {
    if !function.code.iter().any(is_wait) {
        return Ok(Vec::new());
    }
    let flow = Flow::of(function)?;
    let mut before: BTreeMap<usize, Waited> = BTreeMap::from([(0, Waited::None)]);
    let mut work = vec![0];
    while let Some(at) = work.pop() {
        let (Some(block), Some(found)) = (flow.blocks.get(at), before.get(&at)) else {
            continue;
        };
        let code = function.code.get(block.code.clone()).unwrap_or_default();
        let behind = code.iter().fold(*found, behind);
        for next in flow.next(at) {
            let joined = match before.get(&next) {
                None => behind,
                Some(other) if *other == behind => behind,
                // Once it was waited for on one way, it is not forgotten: otherwise this might go on for ever.
                Some(_) => Waited::Some,
            };
            if before.insert(next, joined) != Some(joined) {
                work.push(next);
            }
        }
    }
    let mut found = Vec::new();
    for (at, mut waited) in before {
        let Some(block) = flow.blocks.get(at) else {
            continue;
        };
        for index in block.code.clone() {
            let Some(instruction) = function.code.get(index) else {
                continue;
            };
            if waited != Waited::All && reads_global(instruction) {
                found.push(index);
            }
            waited = behind(waited, instruction);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn behind(waited: Waited, instruction: &Instruction<'_>) -> Waited {
    match waited {
        _ if is_wait(instruction) && instruction.guard.is_none() => Waited::All,
        Waited::None if is_wait(instruction) => Waited::Some,
        Waited::Some if meets(instruction) => Waited::All,
        waited => waited,
    }
}

fn is_wait(instruction: &Instruction<'_>) -> bool {
    instruction.opcode == "griddepcontrol.wait"
}

/// Whether threads of a CTA meet here.
fn meets(instruction: &Instruction<'_>) -> bool {
    let parts: Vec<&str> = instruction.parts().collect();
    match parts.as_slice() {
        ["bar" | "barrier", rest @ ..] => {
            !rest.contains(&"arrive") && (!rest.contains(&"warp") || rest.contains(&"sync"))
        }
        ["mbarrier", "try_wait" | "test_wait", ..] => true,
        _ => false,
    }
}

/// Whether an instruction certainly reads global memory: a load, a copy, or an atomic operation.
fn reads_global(instruction: &Instruction<'_>) -> bool {
    let parts: Vec<&str> = instruction.parts().collect();
    let global = parts.contains(&"global");
    match parts.as_slice() {
        ["ld" | "ldu" | "atom" | "red", ..] => global,
        // From global to shared memory.
        ["cp", "async", "bulk", "prefetch", ..] => false,
        ["cp", "async", ..] => instruction
            .opcode
            .split_once(".global")
            .is_some_and(|(to, _)| to.contains(".shared")),
        _ => false,
    }
}
