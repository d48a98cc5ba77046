//! Splits a protocol into cases that are encoded separately. A case is a combination of values of the enumerated
//! parameters. Each case has one or more systems. A system consists of groups of members that share objects, directly
//! or through other groups.

use super::fold::Known;
use super::shape;
use super::shape::Family;
use super::shape::Group;
use super::split;
use super::system::System;
use super::walk;
use crate::certificate::exact;
use crate::certificate::program::Unsupported;
use crate::protocol::Domain;
use crate::protocol::ParamId;
use crate::protocol::Protocol;
use crate::protocol::Resident;

/// The largest window that is supported.
const MAX_WINDOW: usize = 64;

/// The most combinations of parameter values that are encoded one by one.
const MAX_CASES: usize = 64;

/// Groups that share mbarriers, at fixed values of some parameters.
#[derive(Debug, Clone)]
pub struct Component {
    /// The parameters that are fixed.
    pub fixed: Vec<(ParamId, i64)>,
    pub(super) groups: Vec<Group>,
    families: Vec<Family>,
}

impl Component {
    /// Its transition system.
    ///
    /// # Errors
    ///
    /// Refuses groups that do not go through the same rounds.
    pub fn system<'p>(
        &self,
        protocol: &'p Protocol,
        window: usize,
    ) -> Result<System<'p>, Unsupported> {
        if window == 0 || window > MAX_WINDOW {
            return Err(Unsupported::whole("a window that is not supported"));
        }
        let (groups, families) = (self.groups.clone(), self.families.clone());
        System::new(protocol, &self.fixed, groups, families, window)
    }

    /// A window that is often wide enough. A member can get ahead by as many rounds as the rings between it and other
    /// members have elements. Each ring that is filled by a member is emptied by another, so half of the elements
    /// count.
    pub fn usual_window(&self) -> usize {
        let sizes = || self.families.iter().map(|family| family.size as usize);
        let half = sizes().sum::<usize>().div_ceil(2);
        let largest = sizes().max().unwrap_or(1);
        let round = exact::next(exact::together(largest, largest));
        half.min(round).max(1)
    }
}

/// One combination of values: all of its groups, and the systems that they form.
pub(super) struct Case {
    pub(super) fixed: Vec<(ParamId, i64)>,
    pub(super) groups: Vec<Group>,
    pub(super) families: Vec<Family>,
    pub(super) components: Vec<Component>,
}

/// The systems of a protocol, one combination of values after the other.
///
/// # Errors
///
/// Refuses a protocol outside the fragment, naming the construct.
pub fn components(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Component>, Unsupported> {
    let cases = cases(protocol, enumerated)?;
    Ok(cases.into_iter().flat_map(|case| case.components).collect())
}

pub(super) fn cases(protocol: &Protocol, enumerated: &[usize]) -> Result<Vec<Case>, Unsupported> {
    if let Some(pattern) = protocol.patterns.first() {
        return Err(Unsupported::at(
            pattern.span,
            "a pattern where members are counted",
        ));
    }
    for role in &protocol.roles {
        let whole = |resident: &Resident| *resident == Resident::All;
        if role.launch.as_ref().is_some_and(|l| !whole(&l.resident)) {
            return Err(Unsupported::at(
                role.span,
                "a grid that need not be resident as a whole",
            ));
        }
    }
    combinations(protocol, enumerated)?
        .into_iter()
        .map(|fixed| case(protocol, fixed))
        .collect()
}

fn combinations(
    protocol: &Protocol,
    enumerated: &[usize],
) -> Result<Vec<Vec<(ParamId, i64)>>, Unsupported> {
    if !enumerated.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Unsupported::whole("parameters enumerated out of order"));
    }
    let mut all = vec![Vec::new()];
    for at in enumerated {
        let values: Vec<i64> = match protocol.params.get(*at).map(|param| &param.domain) {
            Some(Domain::Set(values)) => values.clone(),
            Some(Domain::Range(lo, hi))
                if hi
                    .checked_sub(*lo)
                    .is_some_and(|apart| apart < MAX_CASES as i64) =>
            {
                (*lo..=*hi).collect()
            }
            _ => return Err(Unsupported::whole("a parameter with too many values")),
        };
        let mut more = Vec::new();
        for chosen in &all {
            for value in &values {
                let mut chosen: Vec<(ParamId, i64)> = chosen.clone();
                chosen.push((ParamId(*at), *value));
                more.push(chosen);
            }
        }
        if more.len() > MAX_CASES {
            return Err(Unsupported::whole("too many combinations of parameters"));
        }
        all = more;
    }
    Ok(all)
}

fn case(protocol: &Protocol, fixed: Vec<(ParamId, i64)>) -> Result<Case, Unsupported> {
    let known = Known {
        params: fixed.iter().copied().collect(),
        ..Known::default()
    };
    let mut programs = Vec::new();
    for role in &protocol.roles {
        for part in split::parts(protocol, role, &known)? {
            let program = walk::walk(&part, &role.body)?;
            programs.push((part, program));
        }
    }
    let (groups, families) = shape::close(programs)?;
    let components = connected(&groups, &families)
        .into_iter()
        .map(|members| component(&fixed, &groups, &families, &members))
        .collect();
    Ok(Case {
        fixed,
        groups,
        families,
        components,
    })
}

/// The groups, joined if they share families directly or through other groups. Groups that use no family are left
/// out.
fn connected(groups: &[Group], families: &[Family]) -> Vec<Vec<usize>> {
    let mut label: Vec<usize> = (0..families.len()).collect();
    let used = |group: &Group| -> Vec<usize> {
        let ops = group.before.iter().chain(&group.round).chain(&group.after);
        ops.map(|op| op.family).collect()
    };
    for group in groups {
        let used = used(group);
        for family in used.iter().skip(1) {
            let (from, to) = (label[*family], label[used[0]]);
            for l in label.iter_mut().filter(|l| **l == from) {
                *l = to;
            }
        }
    }
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    for (nth, group) in groups.iter().enumerate() {
        let Some(first) = used(group).first().map(|family| label[*family]) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == first) {
            Some((_, members)) => members.push(nth),
            None => all.push((first, vec![nth])),
        }
    }
    all.into_iter().map(|(_, members)| members).collect()
}

fn component(
    fixed: &[(ParamId, i64)],
    groups: &[Group],
    families: &[Family],
    members: &[usize],
) -> Component {
    let mut kept: Vec<usize> = Vec::new();
    let mut own: Vec<Group> = members.iter().map(|nth| groups[*nth].clone()).collect();
    for group in &mut own {
        let before = group.before.iter_mut();
        for op in before.chain(&mut group.round).chain(&mut group.after) {
            op.family = match kept.iter().position(|family| *family == op.family) {
                Some(position) => position,
                None => {
                    let position = kept.len();
                    kept.push(op.family);
                    position
                }
            };
        }
    }
    Component {
        fixed: fixed.to_vec(),
        groups: own,
        families: kept.iter().map(|nth| families[*nth].clone()).collect(),
    }
}
