//! Searches for further counterexamples of properties other than deadlock.
//!
//! Two counterexamples that differ only in their values count as one. They have to differ in the statements, the
//! roles or the object that they are about, or in what is missing.

use rustc_hash::FxHashSet;

use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::protocol::StmtId;
use crate::semantics::data::Data;
use crate::semantics::hazards;
use crate::semantics::hazards::Hazard;
use crate::semantics::hazards::judge;
use crate::semantics::inputs::Inputs;
use crate::semantics::instance::CellId;
use crate::semantics::instance::Instance;
use crate::semantics::unfold;

use super::Hang;
use super::Hunter;
use super::LARGEST;
use super::WORK;
use super::Watch;
use super::bounds;
use super::grid::Region;
use super::held_member;
use super::trim;

/// How far from the least parameter values the search goes.
const RADIUS: i64 = 3;

/// How many inputs are tried per combination of parameter values.
const INPUTS: usize = 16;

/// What distinguishes hazards: their kind, the roles and statements, and the object or buffer.
pub type Place = (u8, Vec<(usize, StmtId)>, Option<usize>);

/// The place of a hazard of an instance.
pub fn place(instance: &Instance, data: Option<&Data>, hazard: &Hazard) -> Place {
    let role = |member: usize| instance.members[member].role;
    let object = |cell: CellId| {
        let flat = cell.0 as usize;
        instance
            .objects
            .iter()
            .position(|o| o.cells.contains(&flat))
    };
    let buffer = |slot: u32| {
        let all = data.map_or(&[][..], |data| &data.buffers[..]);
        all.iter().position(|b| b.cells.contains(&(slot as usize)))
    };
    let op = |member: usize, op: u32| {
        let op = instance.members[member].ops.get(op as usize);
        let stmt = op.map_or(StmtId(usize::MAX), |op| op.stmt);
        (role(member), stmt)
    };
    let access = |(member, nth): (usize, usize)| {
        let access = data.and_then(|data| data.accesses.get(member)?.get(nth));
        let stmt = access.map_or(StmtId(usize::MAX), |access| access.stmt);
        (role(member), stmt)
    };
    let cell_of = |member: usize, op: u32| {
        let op = instance.members[member].ops.get(op as usize);
        op.and_then(|op| object(op.cell))
    };
    match hazard {
        Hazard::Deviation {
            member,
            op: at,
            cell,
            ..
        } => (0, vec![op(*member, *at)], object(*cell)),
        Hazard::Lapped { member, op: at } => (1, vec![op(*member, *at)], cell_of(*member, *at)),
        Hazard::Undefined(violation) => {
            let who = (role(violation.member), violation.stmt);
            (2, vec![who], object(violation.cell))
        }
        Hazard::Surplus {
            member, stmt, cell, ..
        } => (3, vec![(role(*member), *stmt)], object(*cell)),
        Hazard::Unbalanced { cell, bytes } => (4 + u8::from(*bytes < 0), Vec::new(), object(*cell)),
        Hazard::Unready { member, stmt, cell } => (6, vec![(role(*member), *stmt)], object(*cell)),
        Hazard::TooMuch { member, op: at, .. } => {
            (7, vec![op(*member, *at)], cell_of(*member, *at))
        }
        Hazard::Race {
            first,
            second,
            slot,
        } => {
            let mut both = vec![access(*first), access(*second)];
            both.sort_unstable();
            (8, both, buffer(*slot))
        }
        Hazard::Broken { claim } => {
            let claim = data.and_then(|data| data.claims.get(*claim));
            let at = claim.and_then(|claim| claim.at);
            let by = at.map(|(member, _, stmt)| (role(member), stmt));
            // Invariants are distinguished by their declarations.
            let declared = claim.map(|claim| claim.span.start);
            (9, by.into_iter().collect(), declared)
        }
        Hazard::Stopped { claim } => (10, Vec::new(), Some(*claim)),
        Hazard::Stale {
            write,
            read,
            slot,
            proxy,
            ..
        } => {
            let both = vec![access(*write), access(*read)];
            (11 + u8::from(*proxy), both, buffer(*slot))
        }
        Hazard::Kept { cell, .. } => (13, Vec::new(), object(*cell)),
        Hazard::Misplaced { slot, twice } => (14 + u8::from(*twice), Vec::new(), buffer(*slot)),
        Hazard::Roomless {
            access: at,
            slot,
            ended,
        } => (16 + u8::from(*ended), vec![access(*at)], buffer(*slot)),
        Hazard::Exited { member, stmt, cell } => (18, vec![(role(*member), *stmt)], object(*cell)),
    }
}

/// The place of the first hazard that the runs of a counterexample show.
fn shown(protocol: &Protocol, property: Property, hang: &Hang) -> Option<Place> {
    let instance = unfold::instantiate(protocol, &hang.input).ok()?;
    let data = hazards::wanted_data(protocol, property, &hang.input, &LARGEST);
    let data = data.ok().flatten();
    let second = hang.second.as_deref();
    let judged = judge(&instance, data.as_ref(), property, &hang.schedule, second);
    let judged = judged.ok()??;
    Some(place(&instance, data.as_ref(), &judged.hazard))
}

impl Hunter<'_> {
    /// At most `most` counterexamples whose places differ from those in `known` and from each other. Parameter values
    /// are enumerated as in [`Hunter::boxes`].
    pub fn distinct(
        &mut self,
        known: &Hang,
        wanted: usize,
        watch: &Watch<'_>,
    ) -> Vec<(Hang, Place)> {
        let property = self.property;
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        seen.extend(shown(self.protocol, property, known));
        let mut found: Vec<(Hang, Place)> = Vec::new();
        (self.tell)("looking for further counterexamples");
        let region = Region::of_radius(self.protocol, RADIUS);
        let points = region.points(self.protocol, &self.order);
        'points: for params in points.chain([known.input.params.clone()]) {
            let Ok(inputs) = Inputs::new(self.protocol, &params, &bounds(LARGEST)) else {
                continue;
            };
            for (input, instance) in inputs.take(INPUTS).map_while(Result::ok) {
                let data = hazards::wanted_data(self.protocol, property, &input, &LARGEST);
                let Ok(data) = data else { continue };
                let open = wanted - found.len();
                let all = held_member::all(
                    (&instance, data.as_ref()),
                    property,
                    (WORK, watch),
                    &mut seen,
                    open,
                );
                let all = all.into_iter();
                found.extend(all.map(|(runs, place)| (Hang::by(input.clone(), runs), place)));
                if found.len() >= wanted || watch.over() {
                    break 'points;
                }
            }
        }
        let found = found.into_iter();
        found
            .map(|(hang, place)| {
                let hang = trim::alike(self.protocol, property, hang, &place, watch);
                (hang, place)
            })
            .collect()
    }
}
