//! Sequentializes a parallel copy: assignments that happen at once are written one after the other.

use crate::recover::alike::every;
use crate::recover::number::Atomic;
use crate::recover::role_ir::Line;

/// Updates of variables in an order in which none reads what another has assigned before.
pub(super) fn sequentialized(mut updates: Vec<(u32, Vec<Line>)>) -> Option<Vec<Line>> {
    let reads = |lines: &[Line], variable: u32| {
        let mut found = false;
        let own = |atomic: &Atomic| *atomic == Atomic::Variable(variable);
        every(&mut lines.to_vec(), &mut |number| {
            found |= number.mentions(&own);
        });
        found
    };
    let mut all = Vec::new();
    while !updates.is_empty() {
        let next = (0..updates.len()).find(|at| {
            let (variable, _) = &updates[*at];
            let mut others = updates.iter().enumerate();
            !others.any(|(other, (_, lines))| other != *at && reads(lines, *variable))
        })?;
        all.append(&mut updates.remove(next).1);
    }
    Some(all)
}
