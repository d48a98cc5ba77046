//! A ring of mbarriers, and how roles use it. Round `n` of a ring of `S` mbarriers is phase `n / S`
//! of mbarrier `n % S`: the first `S` rounds are the first phases of the mbarriers, one after the
//! other.

use std::collections::BTreeSet;

use crate::ir::VariableId;
use crate::recover::family::object_mut;
use crate::recover::family::object_of;
use crate::recover::mbarrier_lifetimes::Place;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::ring_rounds::Piece;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Object;

/// The path to a block of a role, and the uses of the ring in that block. The path has a line and
/// one of its blocks for each level. Uses are given by their positions among the actions of the
/// block.
type Uses = (Vec<(usize, usize)>, BTreeSet<usize>);

/// Mbarriers at equal distances whose lifetimes go through the same number of rounds.
pub(super) struct Ring {
    pub(super) rank: u32,
    variable: VariableId,
    base: i128,
    stride: i128,
    pub(super) size: i128,
    /// How many rounds of the ring each lifetime goes through.
    pub(super) rounds: Number,
    /// The uses of each role.
    pub(super) uses: Vec<Option<Uses>>,
}

impl Ring {
    /// The ring of these places, if they are at equal distances.
    pub(super) fn new(places: &BTreeSet<Place>, roles: usize) -> Option<Self> {
        let mut all = places.iter();
        let &(rank, variable, base) = all.next()?;
        let stride = all
            .next()
            .map_or(Some(1), |next| next.2.checked_sub(base))?;
        let ring = Self {
            rank,
            variable,
            base,
            stride,
            size: i128::try_from(places.len()).ok()?,
            rounds: Number::default(),
            uses: vec![None; roles],
        };
        (stride > 0 && ring.places().eq(places.iter().copied())).then_some(ring)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.size).map(|at| (self.rank, self.variable, self.base + at * self.stride))
    }

    pub(super) fn has(&self, place: Place) -> bool {
        self.places().any(|own| own == place)
    }

    /// A number whose remainder by the size is the index of an object in the ring.
    fn index(&self, object: &Object) -> Option<Number> {
        let index = object.offset.minus(&Number::constant(self.base))?;
        let index = index.divided(self.stride)?;
        let parts: Vec<_> = index.parts.iter().collect();
        Some(match (index.constant, &parts[..]) {
            (0, [(Atomic::Remainder(inner, size), 1)]) if *size == self.size => (**inner).clone(),
            _ => index,
        })
    }

    /// The round whose phase a wait is for. A parity determines it modulo twice the size.
    fn awaited(&self, object: &Object, parity: &Number) -> Option<Number> {
        let index = self.index(object)?;
        let reduced = parity.remainder(2)?;
        // For a single mbarrier, the parity alone determines the round.
        if self.size == 1 {
            let parts: Vec<_> = parity.parts.iter().collect();
            return Some(match (parity.constant, &parts[..]) {
                (0, [(Atomic::Remainder(inner, 2), 1)]) => (**inner).clone(),
                _ => reduced,
            });
        }
        [0, self.size].into_iter().find_map(|ahead| {
            let round = index.plus(&Number::constant(ahead))?;
            let of_round = round.divided(self.size)?.remainder(2)?;
            (of_round == *parity || of_round == reduced).then_some(round)
        })
    }

    /// Moves an action from a lifetime into the ring: its round follows the `before` rounds of
    /// earlier lifetimes.
    pub(super) fn shift(&self, action: &mut Action, before: &Number) -> Option<()> {
        let round = match &*action {
            Action::Wait { object, parity } => self.awaited(object, parity)?,
            action => self.index(object_of(action)?)?,
        };
        let round = before.plus(&round)?;
        if let Action::Wait { parity, .. } = action {
            *parity = round.divided(self.size)?.remainder(2)?;
        }
        let offset = round.remainder(self.size)?.times(self.stride)?;
        object_mut(action)?.offset = offset.plus(&Number::constant(self.base))?;
        Some(())
    }
}

/// How a block of a role uses a ring.
pub(super) struct RingUses<'a> {
    ring: &'a Ring,
    of_ring: &'a [&'a Action],
    warps: i128,
    /// How many actions have been visited, and which of them are uses.
    actions: usize,
    pub(super) found: BTreeSet<usize>,
    /// How many actions begin or end lifetimes.
    pub(super) passed: usize,
    pub(super) told: Vec<Piece>,
    pub(super) awaited: Vec<Piece>,
    guards: Vec<Condition>,
    around: Vec<(u32, Number)>,
}

impl<'a> RingUses<'a> {
    pub(super) fn new(ring: &'a Ring, of_ring: &'a [&'a Action], warps: usize) -> Self {
        Self {
            ring,
            of_ring,
            warps: i128::try_from(warps).unwrap_or(i128::MAX),
            actions: 0,
            found: BTreeSet::new(),
            passed: 0,
            told: Vec::new(),
            awaited: Vec::new(),
            guards: Vec::new(),
            around: Vec::new(),
        }
    }

    /// Skips a line that begins or ends a lifetime.
    pub(super) fn pass(&mut self, line: &Line) {
        if matches!(line, Line::Action { .. }) {
            self.passed += 1;
            self.actions += 1;
        }
    }

    /// Lists what a line does with the ring. Returns whether it uses it, or `None` if a use has a
    /// form that is not followed.
    pub(super) fn list(&mut self, line: &Line) -> Option<bool> {
        let before = self.found.len();
        match line {
            Line::Action { action, .. } => {
                if self.of_ring.iter().any(|one| std::ptr::eq(*one, action)) {
                    self.found.insert(self.actions);
                    self.listed(action)?;
                }
                self.actions += 1;
            }
            Line::For {
                index, count, body, ..
            } => {
                self.around.push((*index, count.clone()));
                for line in body {
                    self.list(line)?;
                }
                self.around.pop();
            }
            Line::If {
                condition,
                then,
                otherwise,
                ..
            } => {
                let sides = [
                    (then, condition.clone()),
                    (otherwise, condition.clone().negated()?),
                ];
                for (side, holds) in sides {
                    self.guards.push(holds);
                    for line in side {
                        self.list(line)?;
                    }
                    self.guards.pop();
                }
            }
            Line::Let { .. } | Line::Assign { .. } | Line::Return => {}
        }
        Some(self.found.len() > before)
    }

    fn listed(&mut self, action: &Action) -> Option<()> {
        let (arrivals, bytes) = match action {
            Action::Wait { .. } => (0, Number::default()),
            Action::Arrive { count, .. } => (count.as_constant()?, Number::default()),
            Action::Commit { count, .. } => (*count, Number::default()),
            Action::ArriveExpect { bytes, .. } => (1, bytes.clone()),
            Action::Expect { bytes, .. } => (0, bytes.clone()),
            Action::Complete { bytes, .. } => (0, bytes.times(-1)?),
            Action::Copy { bytes, .. } => (0, bytes.as_ref()?.times(-1)?),
            _ => return None,
        };
        // Loops inside of loops are not followed.
        let around = match &self.around[..] {
            [] => None,
            [around] => Some(around.clone()),
            _ => return None,
        };
        let object = object_of(action)?;
        let piece = |round: Number, modulus: i128| {
            Some(Piece {
                round,
                modulus,
                guards: self.guards.clone(),
                around,
                arrivals: arrivals.checked_mul(self.warps)?,
                bytes: bytes.times(self.warps)?,
            })
        };
        match action {
            Action::Wait { parity, .. } => {
                let round = self.ring.awaited(object, parity)?;
                let piece = piece(round, self.ring.size.checked_mul(2)?)?;
                self.awaited.push(piece);
            }
            _ => {
                // A ring of one mbarrier has it in every round, so the index of the loop may count
                // rounds.
                let round = match self.around.first().filter(|_| self.ring.size == 1) {
                    Some((index, _)) => Number::of(Atomic::Index(*index)),
                    None => self.ring.index(object)?,
                };
                let piece = piece(round, self.ring.size)?;
                self.told.push(piece);
            }
        }
        Some(())
    }
}
