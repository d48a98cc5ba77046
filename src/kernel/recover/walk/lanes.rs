//! Checks that all lanes that have to execute an operation together are there: the lanes of its mask, or all lanes of
//! the warp.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Path;
use super::Purpose;
use super::Result;
use super::Value;
use super::Walker;
use super::both;
use super::lane_of;
use super::refuse;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::Operation;
use crate::ir::OperationKind;
use crate::ir::Special;
use crate::ir::Synchronization;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::slice::mask_of;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::Arena;
use crate::recover::tree::Event;
use crate::recover::tree::EventKind;
use crate::recover::tree::Obstacle;
use crate::recover::tree::Statement;

/// Up to where the numbers of a launch are tried.
const LARGEST: u128 = 72;

impl Walker<'_> {
    /// Whether a term is one number in all lanes. A value from memory need not be. Whether a loop
    /// carries such a value is checked when the walk is over ([`differs`]).
    pub(super) fn assume_alike(&mut self, term: TermId, location: &Location) -> bool {
        if self.is_opaque(term) {
            return false;
        }
        // A value that a word of memory decides is alike as long as nobody writes the word. That is
        // stated where a term was assumed to be alike.
        let carried = |atom: &Atom| matches!(atom, Atom::Phi(_));
        let atoms = self.terms.atoms(term);
        if atoms.iter().any(carried) || !self.terms.memory_in(term).is_empty() {
            self.alike.push((term, location.clone()));
        }
        true
    }

    /// Refuses an operation of the whole warp if a lane is missing that has not exited.
    pub(super) fn whole(
        &self,
        mask: u32,
        path: &Path,
        what: &str,
        location: &Location,
    ) -> Result<()> {
        match mask | path.exited == self.full {
            true => Ok(()),
            false => refuse(missing(what), location),
        }
    }

    /// Refuses what a warp computes as a whole if a lane is missing, also one that has ended: only barriers are said not to
    /// need it.
    pub(super) fn unparted(&self, mask: u32, what: &str, location: &Location) -> Result<()> {
        if mask == self.full {
            return Ok(());
        }
        let mut obstacle = Obstacle::new(missing(what), location.clone());
        obstacle.undefined = self.is_alone(self.here.0);
        Err(obstacle)
    }

    /// Refuses what a warp computes as a whole if it depends on the launch whether all its lanes are there. Where
    /// memory decides, they are assumed to agree.
    pub(super) fn computed_by_all(
        &mut self,
        what: &str,
        operation: &Operation,
        path: &Path,
    ) -> Result<()> {
        let location = &operation.location;
        let Some(guard) = operation.guard else {
            return self.unparted(path.mask, what, location);
        };
        // Its guard is followed only where this is looked for.
        if self.purpose == Purpose::Events {
            return Ok(());
        }
        let value = self.operand(Operand::Register(guard.predicate), 1, &path.state);
        let value = self.each(&value, |walker, term| walker.rounded(term));
        let here = (0..32).filter(|lane| path.mask >> lane & 1 == 1);
        let guards: BTreeSet<TermId> = here.map(|lane| lane_of(&value, lane)).collect();
        let truth_of = |walker: &Self, term: &TermId| {
            let known = walker.terms.truth(*term);
            let known = known.or_else(|| walker.decided(*term, path.condition));
            known.map(|truth| truth != guard.negated)
        };
        let truths: BTreeSet<_> = guards.iter().map(|term| truth_of(self, term)).collect();
        if truths.iter().all(|truth| *truth == Some(false)) {
            return Ok(());
        }
        self.unparted(path.mask, what, location)?;
        // If some lanes never carry it out, the others do so without them.
        let some_never = truths.contains(&Some(false));
        let by_memory = guards.iter().any(|term| self.is_opaque(*term));
        *self.trusts_memory |= by_memory;
        if !some_never && (guards.len() == 1 || by_memory || !truths.contains(&None)) {
            return Ok(());
        }
        let reason = format!("only some lanes of a warp may carry out {what}: this is undefined");
        let mut obstacle = Obstacle::new(reason, location.clone());
        obstacle.undefined = some_never || self.parts(&value, path.mask);
        Err(obstacle)
    }

    /// Whether lanes part at a condition at some launch, where loops around are in their first iteration.
    pub(super) fn parts(&mut self, condition: &Value, mask: u32) -> bool {
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let conditions: BTreeSet<TermId> = lanes.map(|lane| lane_of(condition, lane)).collect();
        let mut first = BTreeMap::new();
        for term in &conditions {
            for atom in self.terms.atoms(*term).iter() {
                if let Atom::Phi(phi) = atom {
                    first.insert(*atom, self.phis[*phi as usize].first);
                }
            }
        }
        let mut at_first = Vec::new();
        for term in conditions {
            let term = self
                .terms
                .substitute(term, &|atom| first.get(&atom).copied());
            at_first.push(self.rounded(term));
        }
        self.compare_apart(&at_first) || self.differ_at_a_launch(&at_first)
    }

    /// Whether conditions come out differently at one of some launches.
    fn differ_at_a_launch(&mut self, conditions: &[TermId]) -> bool {
        let of = |term: &TermId| self.terms.atoms(*term);
        let atoms: BTreeSet<Atom> = conditions
            .iter()
            .flat_map(|term| of(term).iter().copied().collect::<Vec<_>>())
            .collect();
        let launched = |atom: &Atom| {
            matches!(
                atom,
                Atom::Parameter { .. } | Atom::Special(Special::CtaIndex(_) | Special::GridCtas(_))
            )
        };
        if !atoms.iter().all(launched) {
            return false;
        }
        (0..LARGEST).any(|value| {
            let mut truths = BTreeSet::new();
            for term in conditions {
                let values: BTreeMap<Atom, TermId> = atoms
                    .iter()
                    .map(|atom| {
                        let value = match atom {
                            Atom::Special(Special::CtaIndex(_)) => 0,
                            Atom::Special(_) => value + 1,
                            _ => value,
                        };
                        (*atom, self.terms.constant(value, 32))
                    })
                    .collect();
                let at = self
                    .terms
                    .substitute(*term, &|atom| values.get(&atom).copied());
                truths.insert(self.terms.truth(at));
            }
            truths.contains(&Some(true)) && truths.contains(&Some(false))
        })
    }

    /// Whether several conditions compare numbers that differ by constants.
    fn compare_apart(&mut self, conditions: &[TermId]) -> bool {
        let conditions: BTreeSet<TermId> = conditions.iter().copied().collect();
        let mut first: Option<(Relation, Vec<(TermId, u128)>)> = None;
        for term in &conditions {
            let inner = match *self.terms.node(*term) {
                Node::Constant(_) => continue,
                Node::Not(inner) => inner,
                _ => *term,
            };
            let Node::Relation(relation, a, b) = *self.terms.node(inner) else {
                return false;
            };
            let one = self.terms.difference(a, b);
            let other = self.terms.difference(b, a);
            let [one, other] = [one, other].map(|term| (relation, self.terms.linear(term).1));
            let kept = first.get_or_insert_with(|| one.clone());
            if *kept != one && *kept != other {
                return false;
            }
        }
        conditions.len() > 1 && first.is_some()
    }

    /// A condition with constants as they matter: `tid < 32 * n` is the same for all lanes of a warp. Where `b` and all of `a` but a
    /// constant are multiples of a power of two, the lowest bits of the constant do not decide whether `a < b`, nor whether
    /// `b < a` if they are not 0.
    pub(super) fn rounded(&mut self, term: TermId) -> TermId {
        match *self.terms.node(term) {
            Node::Not(inner) => {
                let inner = self.rounded(inner);
                self.terms.not(&inner)
            }
            Node::Binary(operation @ (Binary::And | Binary::Or), a, b)
                if self.terms.width_of(term) == 1 =>
            {
                let (a, b) = (self.rounded(a), self.rounded(b));
                self.terms.binary(operation, &a, &b)
            }
            Node::Relation(relation @ (Relation::LessSigned | Relation::LessUnsigned), a, b) => {
                if let Some(below) = self.below(a, b) {
                    self.terms.relation(relation, &below, &b)
                } else if let Some(below) = self.below(b, a) {
                    let less = self.terms.relation(relation, &below, &a);
                    self.terms.not(&less)
                } else {
                    term
                }
            }
            _ => term,
        }
    }

    /// A term without the lowest bits of its constant, where all else in it and in another term are multiples of a power of two. `None` if
    /// there are none.
    fn below(&mut self, term: TermId, other: TermId) -> Option<TermId> {
        let width = self.terms.width_of(term);
        let (constant, parts) = self.terms.linear(term);
        let parts = parts.to_vec();
        let zeros = |(part, factor): &(TermId, u128)| {
            let of_part = self.terms.low_zeros(*part);
            of_part.saturating_add(factor.trailing_zeros())
        };
        let zeros = parts.iter().map(zeros).min().unwrap_or(u32::MAX);
        let free = zeros.min(self.terms.low_zeros(other));
        let free = free.min(u32::from(width) - 1);
        let kept = constant >> free << free;
        (kept != constant).then(|| self.terms.sum(kept, &parts, width))
    }

    /// The lanes that have waited when these do, if others have not.
    pub(super) fn waited_by(&self, mask: u32, path: &Path) -> Option<u32> {
        if mask | path.exited == self.full {
            return path.waited;
        }
        both(path.waited, Some(mask))
    }

    /// Notes where all lanes of the warp come together: none is ahead any longer.
    pub(super) fn meet(&self, operation: &Operation, path: &mut Path) {
        let OperationKind::Synchronization(synchronization) = &operation.kind else {
            return;
        };
        // Those of `wgmma` and of tensor memory are `.sync.aligned`: each lane waits there until all of its warp have
        // come.
        let all = match mask_of(synchronization) {
            None if synchronization.is_for_all_lanes() => true,
            Some(Operand::Constant(lanes)) => {
                // A mask of 32 bits, as `-1` is written.
                let lanes = u32::try_from(lanes & 0xffff_ffff).unwrap_or(0);
                self.full & !(lanes | path.exited) == 0
            }
            _ => false,
        };
        if all && operation.guard.is_none() && path.mask | path.exited == self.full {
            path.waited = None;
        }
        // Others of these operations do not order what lanes read and write.
        if all
            && matches!(synchronization, Synchronization::WarpSync { .. })
            && operation.guard.is_none()
            && path.mask | path.exited == self.full
        {
            path.position.loose = 0;
            path.order.meet(path.exited);
        }
    }

    /// Refuses an operation of lanes that have not waited themselves, and so may be ahead of those that have.
    pub(super) fn in_order(&self, mask: u32, path: &Path, location: &Location) -> Result<()> {
        match path.waited {
            Some(waited) if mask & !waited != 0 => refuse(
                "some lanes of the warp have waited, and others may come here ahead of them: a `bar.warp.sync` is missing",
                location,
            ),
            _ => Ok(()),
        }
    }

    /// Refuses an operation of several lanes for which some are missing. Lanes that have ended are not waited for.
    ///
    /// Source: PTX ISA, "shfl.sync", "vote.sync", "bar.warp.sync", "wgmma.mma_async", "tcgen05.alloc".
    pub(super) fn come_together(
        &mut self,
        synchronization: &Synchronization,
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        if let Some(named) = mask_of(synchronization) {
            let named = self.operand(named, 32, &path.state);
            let mut masks = [None; 32];
            for (lane, slot) in masks.iter_mut().enumerate() {
                if mask >> lane & 1 == 1 {
                    let bits = self.terms.value(lane_of(&named, lane));
                    let Some(bits) = bits.and_then(|bits| u32::try_from(bits).ok()) else {
                        if matches!(synchronization, Synchronization::WarpSync { .. }) {
                            return refuse("which lanes it waits for is not known", location);
                        }
                        *self.trusts_memory = true;
                        return Ok(());
                    };
                    *slot = Some(bits);
                }
            }
            if !complete(&masks, self.full & !path.exited) {
                let reason = "a lane is not in its own mask, or lanes of the mask are not here: this is undefined";
                let mut obstacle = Obstacle::new(reason, location.clone());
                obstacle.undefined = self.is_alone(self.here.0);
                return Err(obstacle);
            }
            return Ok(());
        }
        if synchronization.is_for_all_lanes() {
            self.unparted(mask, "what all its lanes do together", location)?;
        }
        if synchronization.is_multiplication() {
            if mask != u32::MAX {
                return refuse(
                    "all 128 threads of a warpgroup have to carry this out, and some of them do not: this is undefined",
                    location,
                );
            }
            out.push(Statement::Event(Event {
                kind: EventKind::Multiply(synchronization.clone()),
                lanes: mask.count_ones(),
                location: location.clone(),
            }));
        }
        Ok(())
    }
}

/// Where a term was assumed to be one number in all lanes, though a loop carries an unknown value
/// there.
pub fn differs(arena: &Arena) -> Option<Location> {
    let unlike = |term: TermId| {
        let mut seen = BTreeSet::new();
        let mut work = vec![term];
        while let Some(term) = work.pop() {
            for atom in arena.terms.atoms(term).iter() {
                match atom {
                    Atom::Opaque(_) | Atom::RingWord(_) => return true,
                    Atom::Phi(phi) if seen.insert(*phi) => {
                        let phi = &arena.phis[*phi as usize];
                        work.extend([phi.first, phi.next]);
                    }
                    _ => {}
                }
            }
        }
        false
    };
    let mut found = arena.alike.iter().filter(|(term, _)| unlike(*term));
    found.next().map(|(_, location)| location.clone())
}

fn missing(what: &str) -> String {
    format!("a part of a warp comes to {what}, while other lanes go on: this is undefined")
}

/// Whether every lane that is here is in its own mask, and all lanes of a mask that have not ended are here with the
/// same one.
fn complete(masks: &[Option<u32>; 32], alive: u32) -> bool {
    let here = masks.iter().enumerate();
    here.filter_map(|(lane, mask)| Some((lane, (*mask)?)))
        .all(|(lane, mask)| {
            let all = (0..32).all(|other| {
                let wanted = mask & alive & 1 << other != 0;
                !wanted || masks[other] == Some(mask)
            });
            all && mask >> lane & 1 == 1
        })
}
