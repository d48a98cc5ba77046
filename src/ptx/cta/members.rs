//! Merges warps that run the same program on different elements: they become one role, whose index selects the elements.

use super::program::Program;
use super::program::numbered;
use crate::ptx::warp::facts::Facts;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Sum;

/// Puts warps together that differ in nothing but which elements they use, where that is a multiple of
/// their number among them, of its remainder or of its quotient.
pub(in crate::ptx) fn indexed(programs: Vec<Program>, unknowns: &mut Unknowns) -> Vec<Program> {
    let mut groups: Vec<(Vec<Statement>, Vec<Program>)> = Vec::new();
    for program in programs {
        let mut bare = numbered(&program.statements);
        constants(&mut bare, &mut |constant| *constant = 0);
        let rank = program.rank;
        let same = groups
            .iter_mut()
            .find(|(other, all)| *other == bare && all.iter().all(|p| p.rank == rank));
        match same {
            Some((_, all)) => all.push(program),
            None => groups.push((bare, vec![program])),
        }
    }
    let mut all = Vec::new();
    for (_, group) in groups {
        match whole(&group, unknowns) {
            Some(program) => all.push(program),
            None => all.extend(group),
        }
    }
    all.sort_by_key(|p| (p.rank, p.warps.first().copied()));
    all
}

fn whole(group: &[Program], unknowns: &mut Unknowns) -> Option<Program> {
    let (first, rest) = group.split_first()?;
    if rest.is_empty() {
        return None;
    }
    // Each warp with the constants of its program.
    let mut warps: Vec<(u32, Vec<i128>)> = Vec::new();
    for program in group {
        let mut found = Vec::new();
        let mut statements = program.statements.clone();
        constants(&mut statements, &mut |constant| found.push(*constant));
        warps.extend(program.warps.iter().map(|w| (*w, found.clone())));
    }
    warps.sort_by_key(|(warp, _)| *warp);
    let count = i128::try_from(warps.len()).ok()?;
    let member = unknowns.of(Meaning::Member);
    let mut facts = Facts::default();
    facts.bound(member, 0, count - 1);
    unknowns.1.bound(member, 0, 1 << 10);
    let mut forms = Vec::new();
    for position in 0..warps.first()?.1.len() {
        let values: Vec<i128> = warps.iter().map(|(_, found)| found[position]).collect();
        forms.push(form(&values, &Sum::unknown(member), &facts)?);
    }
    let mut statements = first.statements.clone();
    let mut next = forms.into_iter();
    indices(&mut statements, &mut |index| {
        if let Some(form) = next.next() {
            *index = index.plus_constant(-index.constant).plus(&form);
        }
    });
    let warps = warps.into_iter().map(|(warp, _)| warp).collect();
    Some(Program::of(first.rank, warps, statements))
}

/// A function of the number of a warp that has these values.
fn form(values: &[i128], member: &Sum, facts: &Facts) -> Option<Sum> {
    let first = *values.first()?;
    if values.iter().all(|v| *v == first) {
        return Some(Sum::of(first));
    }
    let fits = |of: &dyn Fn(i128) -> i128, slope: i128| {
        (0..).zip(values).all(|(k, v)| *v == first + slope * of(k))
    };
    let slope = values.get(1)? - first;
    if slope != 0 && fits(&|k| k, slope) {
        return Some(member.scaled(slope).plus_constant(first));
    }
    let count = i128::try_from(values.len()).ok()?;
    for size in 2..count {
        let divisor = Sum::of(size);
        if slope != 0 && fits(&|k| k % size, slope) {
            let part = facts.modulo(member, &divisor)?;
            return Some(part.scaled(slope).plus_constant(first));
        }
        let slope = values.get(usize::try_from(size).ok()?)? - first;
        if slope != 0 && fits(&|k| k / size, slope) {
            let part = facts.quotient(member, &divisor)?;
            return Some(part.scaled(slope).plus_constant(first));
        }
    }
    None
}

/// Visits the indices of every element.
fn indices(statements: &mut [Statement], visit: &mut dyn FnMut(&mut Sum)) {
    for statement in statements {
        match &mut statement.action {
            Action::For(_, _, body) => indices(body, visit),
            Action::If(_, yes, no) => {
                indices(yes, visit);
                indices(no, visit);
            }
            Action::Touch(_, area) | Action::Copy(_, _, Some(area)) => {
                for cell in &mut area.cells {
                    cell.indices.iter_mut().for_each(&mut *visit);
                }
            }
            _ => {}
        }
    }
}

fn constants(statements: &mut [Statement], visit: &mut dyn FnMut(&mut i128)) {
    indices(statements, &mut |index| visit(&mut index.constant));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::warp::term::Unknown;

    #[test]
    fn functions_of_the_number() {
        let mut facts = Facts::default();
        facts.bound(Unknown(0), 0, 7);
        let own = Sum::unknown(Unknown(0));
        let found = |values: &[i128]| form(values, &own, &facts);
        let at = |sum: &Sum, k: i128| facts.replaced(sum, &|_| Some(Sum::of(k))).as_constant();
        for values in [
            [3, 3, 3, 3, 3, 3, 3, 3],
            [1, 2, 3, 4, 5, 6, 7, 8],
            [7, 6, 5, 4, 3, 2, 1, 0],
            [0, 1, 2, 3, 0, 1, 2, 3],
            [0, 0, 2, 2, 4, 4, 6, 6],
            [5, 5, 5, 5, 1, 1, 1, 1],
        ] {
            let sum = found(&values).unwrap();
            for (k, value) in (0..).zip(values) {
                assert_eq!(at(&sum, k), Some(value), "{values:?}");
            }
        }
        assert_eq!(found(&[0, 1, 3, 2, 4, 5, 6, 7]), None);
    }
}
