//! Describes the subject of a hazard in a witness.

use crate::protocol::Protocol;
use crate::protocol::StmtId;
use crate::semantics::data::Data;
use crate::semantics::hazards::Hazard;
use crate::semantics::instance::Instance;

use super::HazardEntry;
use super::describe;

/// The entry for a hazard of an instance. For a race, the data of the instance has to be given.
pub(super) fn entry(
    protocol: &Protocol,
    instance: &Instance,
    data: Option<&Data>,
    hazard: &Hazard,
) -> HazardEntry {
    let (members, statements, element, counts) = match hazard {
        Hazard::Deviation {
            member,
            op,
            cell,
            counts,
        } => (
            vec![*member],
            statement(instance, *member, *op),
            instance.cell_name(*cell),
            Some(*counts),
        ),
        Hazard::Lapped { member, op } | Hazard::TooMuch { member, op, .. } => {
            let done = instance.members[*member].ops.get(*op as usize);
            (
                vec![*member],
                statement(instance, *member, *op),
                done.map_or_else(String::new, |op| instance.cell_name(op.cell)),
                None,
            )
        }
        Hazard::Undefined(violation) => (
            vec![violation.member],
            vec![violation.stmt],
            instance.cell_name(violation.cell),
            None,
        ),
        Hazard::Surplus {
            member, stmt, cell, ..
        }
        | Hazard::Unready { member, stmt, cell }
        | Hazard::Exited { member, stmt, cell } => {
            (vec![*member], vec![*stmt], instance.cell_name(*cell), None)
        }
        Hazard::Unbalanced { cell, .. } | Hazard::Kept { cell, .. } => {
            (Vec::new(), Vec::new(), instance.cell_name(*cell), None)
        }
        Hazard::Broken { claim } => {
            let claim = data.and_then(|data| data.claims.get(*claim));
            let at = claim.and_then(|claim| claim.at);
            (
                at.map(|(member, ..)| member).into_iter().collect(),
                at.map(|(_, _, stmt)| stmt).into_iter().collect(),
                claim.map_or_else(String::new, |claim| claim.text.clone()),
                None,
            )
        }
        Hazard::Stopped { claim } => {
            let claim = data.and_then(|data| data.progress.get(*claim));
            let text = claim.map_or("", |(progress, _)| progress.text());
            (Vec::new(), Vec::new(), text.to_owned(), None)
        }
        Hazard::Misplaced { slot, .. } => {
            let slot = data.map_or_else(String::new, |data| data.slot_name(*slot));
            (Vec::new(), Vec::new(), slot, None)
        }
        Hazard::Roomless { access, slot, .. } => {
            let accesses = data.and_then(|data| data.accesses.get(access.0));
            let touched = accesses.and_then(|all| all.get(access.1));
            (
                vec![access.0],
                touched.map(|a| a.stmt).into_iter().collect(),
                data.map_or_else(String::new, |data| data.slot_name(*slot)),
                None,
            )
        }
        Hazard::Race {
            first,
            second,
            slot,
        }
        | Hazard::Stale {
            write: first,
            read: second,
            slot,
            ..
        } => {
            let touched = |(member, place): &(usize, usize)| {
                let accesses = data.and_then(|data| data.accesses.get(*member));
                accesses.and_then(|all| all.get(*place)).map(|a| a.stmt)
            };
            (
                vec![first.0, second.0],
                [first, second].into_iter().filter_map(touched).collect(),
                data.map_or_else(String::new, |data| data.slot_name(*slot)),
                None,
            )
        }
    };
    let line = |stmt: &StmtId| {
        let span = instance.spans.get(stmt.0).copied().unwrap_or_default();
        describe::line(&protocol.source, span)
    };
    HazardEntry {
        members: members.iter().map(|m| instance.member_name(*m)).collect(),
        lines: statements.iter().map(line).collect(),
        statements: statements.into_iter().map(|stmt| stmt.0).collect(),
        element,
        counts,
    }
}

fn statement(instance: &Instance, member: usize, op: u32) -> Vec<StmtId> {
    let op = instance.members[member].ops.get(op as usize);
    op.map(|op| op.stmt).into_iter().collect()
}
