//! Loops whose step the launch gives: their trip count is an input of its own.
//!
//! For example, `for (i = 0; i < n; i += nctaid)` runs `tiles` times, and `tiles` is an input. The
//! *relation* of this loop is `i < n`: the loop goes on while it holds. Two loops have the same
//! input if their relations, first values and steps are the same.
//!
//! Other branches may have the same condition as the loop. If the relation holds up to some
//! iteration and in none from there on ([`super::loop_direction`]), such a condition holds exactly
//! in the iterations of the loop.

use std::collections::BTreeSet;

use super::Lowerer;
use super::MOST;
use super::Origin;
use super::Tripped;
use super::loop_direction::Direction;
use crate::recover::launch::is_launch;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;

/// Stands for the phi of any loop.
const ANY: u32 = u32::MAX;

impl Lowerer<'_> {
    /// For a relation with a phi whose step the launch fixes and is no constant: the phi, how many
    /// steps the relation looks ahead, and the relation without these steps, at the first value of the
    /// phi. For example, `i + nctaid < n` looks ahead by one step, and without it is `i < n`.
    pub(super) fn trip_key(&mut self, relation: TermId) -> Option<(u32, i128, TermId)> {
        let inner = match self.arena.terms.node(relation) {
            Node::Not(inner) => *inner,
            _ => relation,
        };
        let Node::Relation(..) = self.arena.terms.node(inner) else {
            return None;
        };
        let atoms = self.arena.terms.atoms(relation);
        let phis: Vec<u32> = atoms
            .iter()
            .filter_map(|atom| match atom {
                Atom::Phi(phi) => Some(*phi),
                _ => None,
            })
            .collect();
        let [phi] = phis.as_slice() else { return None };
        let (atom, first, step) = self.linear_phi(*phi)?;
        if self.arena.terms.value(step).is_some() || !is_launch(first, &self.arena.terms) {
            return None;
        }
        let strange = self.arena.terms.atoms(step);
        let mut shifted = relation;
        for ahead in 0..5 {
            if !self
                .arena
                .terms
                .atoms(shifted)
                .iter()
                .any(|atom| strange.contains(atom))
                || ahead == 4
            {
                let ahead = if ahead == 4 { 0 } else { ahead };
                let base = if ahead == 0 && shifted != relation {
                    relation
                } else {
                    shifted
                };
                let key = self
                    .arena
                    .terms
                    .substitute(base, &|other| (other == Atom::Phi(*phi)).then_some(first));
                return is_launch(key, &self.arena.terms).then_some((*phi, ahead, key));
            }
            let previous = self.arena.terms.difference(atom, step);
            shifted = self.arena.terms.substitute(shifted, &|other| {
                (other == Atom::Phi(*phi)).then_some(previous)
            });
        }
        None
    }

    /// What determines the trip count of a loop: its relation, first value and step. In this
    /// relation, [`ANY`] replaces the phi, so that relations of different loops can be compared, and
    /// the steps that it looks ahead are taken off. Also the same relation with the loop's own phi.
    pub(super) fn trip_shape(
        &mut self,
        relation: TermId,
        phi: u32,
        ahead: i128,
    ) -> Option<([TermId; 3], TermId)> {
        let (atom, first, step) = self.linear_phi(phi)?;
        let mut present = relation;
        let previous = self.arena.terms.difference(atom, step);
        for _ in 0..ahead {
            present = self.arena.terms.substitute(present, &|other| {
                (other == Atom::Phi(phi)).then_some(previous)
            });
        }
        let width = self.arena.terms.width_of(atom);
        let any = self.arena.terms.atom(Atom::Phi(ANY), width);
        let shape = self
            .arena
            .terms
            .substitute(present, &|other| (other == Atom::Phi(phi)).then_some(any));
        Some(([shape, first, step], present))
    }

    /// Makes an input of the trip count of a loop with such a relation, if there is none yet. Then
    /// guards in front of the loop on the same relation are known, too.
    pub(super) fn register_trips(&mut self, relation: TermId) {
        let Some((phi, ahead, key)) = self.trip_key(relation) else {
            return;
        };
        let Some((shape, present)) = self.trip_shape(relation, phi, ahead) else {
            return;
        };
        if self.inputs.trips.iter().any(|known| known.shape == shape) {
            return;
        }
        let [_, first, step] = shape;
        let way = self.exit_direction(present, phi);
        let goes = match way {
            Some(way) => self.steps(step, way),
            None => self.steps(step, Direction::Up) || self.steps(step, Direction::Down),
        };
        if !goes {
            return;
        }
        let terms = &self.arena.terms;
        let words = [key, first, step].map(|term| terms.atoms(term));
        let words: BTreeSet<Atom> = words
            .iter()
            .flat_map(|atoms| atoms.iter().copied())
            .collect();
        let meaning = "iterations of a loop in steps of the grid".to_owned();
        let origin = Origin::Trips {
            relation: present,
            phi,
            first,
            step,
        };
        let number = self
            .inputs
            .add("tiles".to_owned(), meaning, words, (0, MOST), origin);
        self.inputs.trips.push(Tripped {
            key,
            shape,
            input: number,
            ends_once: way.is_some(),
        });
        self.inputs
            .assumptions
            .insert("a loop in steps of the grid does not wrap around".to_owned());
    }
}
