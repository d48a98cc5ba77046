//! Loops whose step the launch gives: their trip count is an input of its own.
//!
//! For example, `for (i = 0; i < n; i += nctaid)` runs `tiles` times, and `tiles` is an input. The
//! *relation* of this loop is `i < n`: the loop goes on while it holds. Two loops have the same
//! input if their relations, first values and steps are the same.
//!
//! Other branches may have the same condition as the loop. If the relation holds up to some
//! iteration and in none from there on ([`super::loop_direction`]), such a condition holds exactly
//! in the iterations of the loop.
//!
//! A loop with a constant step is treated in this way if it begins at a value of the launch that has
//! no form as a number, such as `for (i = share * ctaid; i < end; i++)`, and the kernel is not
//! recovered otherwise. The input takes every trip count, so the protocol has all runs of the kernel.

use std::collections::BTreeSet;

use super::Lowerer;
use super::MOST;
use super::Origin;
use super::Tripped;
use super::loop_direction::Direction;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::recover::launch::is_launch;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;

/// Stands for the phi of any loop.
const ANY: u32 = u32::MAX;

/// How many constant steps a relation may look ahead.
const MOST_AHEAD: i128 = 4;

/// A relation between a bound of the launch and `counted`, a phi plus some of its constant steps.
struct Start {
    phi: u32,
    first: TermId,
    /// What each iteration adds.
    each: i128,
    /// How many steps `counted` is ahead of the phi.
    ahead: i128,
    counted: TermId,
    bound: TermId,
}

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
        if self.arena.terms.value(step).is_some() {
            return self.key_of_start(relation);
        }
        if !is_launch(first, &self.arena.terms) {
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

    /// The same for a relation between a bound and a phi with a constant step, if the first value of
    /// the phi is among [`crate::recover::tree::Arena::starts`].
    fn key_of_start(&mut self, relation: TermId) -> Option<(u32, i128, TermId)> {
        let Start {
            phi, first, ahead, ..
        } = self.start(relation)?;
        if !self.arena.starts.as_ref()?.contains(&first) {
            return None;
        }
        let ([_, first, _], present) = self.trip_shape(relation, phi, ahead)?;
        let key = self
            .arena
            .terms
            .substitute(present, &|other| (other == Atom::Phi(phi)).then_some(first));
        Some((phi, ahead, key))
    }

    /// For a relation between a bound of the launch and a phi that begins with a value of the launch
    /// and has a constant step: what it consists of.
    fn start(&mut self, relation: TermId) -> Option<Start> {
        let inner = match *self.arena.terms.node(relation) {
            Node::Not(inner) => inner,
            _ => relation,
        };
        let Node::Relation(_, a, b) = *self.arena.terms.node(inner) else {
            return None;
        };
        let sides = [(a, b), (b, a)];
        let (counted, bound) = sides
            .into_iter()
            .find(|(_, bound)| is_launch(*bound, &self.arena.terms))?;
        let phi = match *self.arena.terms.atoms(counted) {
            [Atom::Phi(phi)] => phi,
            _ => return None,
        };
        let (atom, first, step) = self.linear_phi(phi)?;
        let terms = &mut self.arena.terms;
        if terms.width_of(counted) != terms.width_of(atom) || !is_launch(first, terms) {
            return None;
        }
        let more = terms.difference(counted, atom);
        let (more, each) = (terms.signed(more)?, terms.signed(step)?);
        let ahead = more.checked_div(each)?;
        let even = more % each == 0 && (0..=MOST_AHEAD).contains(&ahead);
        even.then_some(Start {
            phi,
            first,
            each,
            ahead,
            counted,
            bound,
        })
    }

    /// Notes the first value of a loop's counter that has no form as a number, if such values are looked for.
    pub(super) fn note_start(&mut self, relation: TermId) {
        if self.arena.starts.is_none() {
            return;
        }
        let Some(Start { first, .. }) = self.start(relation) else {
            return;
        };
        // Whoever asks for the number of a term may add inputs.
        let before = self.inputs.clone();
        let has_number = self.number(first).is_some();
        *self.inputs = before;
        if let Some(starts) = self.arena.starts.as_mut().filter(|_| !has_number) {
            starts.insert(first);
        }
    }

    /// `i < end` in place of `i != end`, if `i` counts up by 1 from one of the noted first values, and that is less than `end`
    /// under the conditions around the loop. The loop has to be this one, if one is given.
    ///
    /// Both hold in the same iterations up to the first one in which they fail: `i` is at most `end` up to there. This
    /// is also so of `i + 1`, which is at most `end` in the first iteration. Behind that iteration they differ. So this is
    /// for the condition of the loop with this phi only, which is left there.
    pub(super) fn as_less(&mut self, relation: TermId, own: Option<LoopId>) -> TermId {
        let different = match *self.arena.terms.node(relation) {
            Node::Not(inner) => {
                matches!(
                    self.arena.terms.node(inner),
                    Node::Relation(Relation::Equal, ..)
                )
            }
            _ => false,
        };
        let Some(start) = self.start(relation).filter(|_| different) else {
            return relation;
        };
        let noted = self.arena.starts.as_ref();
        let in_loop = self.arena.phis[start.phi as usize].in_loop;
        if start.each != 1
            || start.ahead > 1
            || own.is_some_and(|own| own != in_loop)
            || !noted.is_some_and(|noted| noted.contains(&start.first))
        {
            return relation;
        }
        for less in [Relation::LessSigned, Relation::LessUnsigned] {
            let terms = &mut self.arena.terms;
            let begins = terms.relation(less, &start.first, &start.bound);
            if self.is_held(begins) {
                let terms = &mut self.arena.terms;
                return terms.relation(less, &start.counted, &start.bound);
            }
        }
        relation
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
        let meaning = match terms.value(step) {
            Some(_) => "iterations of a loop".to_owned(),
            None => "iterations of a loop in steps of the grid".to_owned(),
        };
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
