//! The direction of a loop whose step the launch gives: whether the induction variable moves so
//! that the condition of the loop fails at last.
//!
//! For example, in `for (i = 0; ..; i += nctaid)` the condition `i < n` holds in the first
//! iterations and in none behind. So the trip count says of every iteration whether the condition
//! holds in it. A condition `i != n` may hold again after it has failed. It only says when its own
//! loop is left. And `i > n` has the wrong direction: it holds in no iteration, or in all.
//!
//! With a step of 0 the loop goes on forever. If a step may be 0, it is assumed not to be. A step
//! such as `ctaid.x` is 0 in some CTA of every launch. So no launch satisfies the assumption, and
//! such a loop is not followed.

use super::Lowerer;
use crate::ir::Special;
use crate::meaning::Binary;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::term::Atom;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::term::Terms;

/// The direction in which a register moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Direction {
    fn turned(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// Numbers that are tried for the words of a launch, to find a launch at which steps are not 0.
const SOME: [u128; 5] = [1, 2, 64, 4096, 1 << 20];

impl Lowerer<'_> {
    /// The direction in which the phi of a relation has to move so that the relation never holds
    /// again once it has failed, if nothing wraps around. `None` if it may hold again.
    pub(super) fn exit_direction(&self, relation: TermId, phi: u32) -> Option<Direction> {
        let terms = &self.arena.terms;
        let (inner, holds) = match *terms.node(relation) {
            Node::Not(inner) => (inner, false),
            _ => (relation, true),
        };
        let Node::Relation(Relation::LessSigned | Relation::LessUnsigned, a, b) =
            *terms.node(inner)
        else {
            return None;
        };
        let counts = |term: TermId| terms.atoms(term).contains(&Atom::Phi(phi));
        // `x < bound` ends if `x` grows.
        let way = match (counts(a), counts(b)) {
            (true, false) => going(a, phi, terms)?,
            (false, true) => going(b, phi, terms)?.turned(),
            _ => return None,
        };
        Some(if holds { way } else { way.turned() })
    }

    /// Whether a step goes in a direction at all launches, or at some launch. In the latter case it
    /// is assumed to do so, and the assumption is noted.
    pub(super) fn steps(&mut self, step: TermId, way: Direction) -> bool {
        let terms = &self.arena.terms;
        let goes = certain(step, way, false, terms);
        let atoms = terms.atoms(step);
        let given = atoms
            .iter()
            .any(|atom| matches!(atom, Atom::Parameter { .. }));
        if !goes {
            let differs = atoms.iter().any(differs_between_ctas);
            let may = match (differs, way) {
                (true, _) => certain(step, way, true, terms),
                (false, Direction::Up) => self.goes_at_some_launch(step),
                // If the step is subtracted, the assumption is that what is subtracted is at least
                // 1.
                (false, Direction::Down) => {
                    let width = terms.width_of(step);
                    let zero = self.arena.terms.constant(0, width);
                    let less = self.arena.terms.difference(zero, step);
                    natural(less, &self.arena.terms) && self.goes_at_some_launch(less)
                }
            };
            if !may {
                return false;
            }
        }
        if given || !goes {
            self.inputs
                .assumptions
                .insert("steps of loops that the launch gives are at least 1".to_owned());
        }
        true
    }

    /// Whether a step that all CTAs have in common is at least 1 at one of a few launches.
    fn goes_at_some_launch(&mut self, step: TermId) -> bool {
        let terms = &mut self.arena.terms;
        SOME.into_iter().any(|number| {
            [1, 3].into_iter().any(|times| {
                let given = terms.constant(number * times, 32);
                let counted = terms.constant(number, 32);
                let mut at = terms.substitute(step, &|atom| match atom {
                    Atom::Parameter { .. } => Some(given),
                    Atom::Special(special) if counts(special) => Some(counted),
                    _ => None,
                });
                while let Some(word) = terms.memory_in(at).first().copied() {
                    let width = terms.width_of(word);
                    let number = terms.constant(number, width);
                    at = terms.replaced(at, word, number);
                }
                terms.signed(at).is_some_and(|at| at >= 1)
            })
        })
    }
}

/// Whether this number differs between the CTAs of a launch, or between their threads.
fn differs_between_ctas(atom: &Atom) -> bool {
    match atom {
        Atom::Parameter { .. } => false,
        Atom::Special(special) => !counts(*special),
        _ => true,
    }
}

/// Whether a number counts something.
fn counts(special: Special) -> bool {
    matches!(
        special,
        Special::CtaThreads(_)
            | Special::GridCtas(_)
            | Special::GridClusters(_)
            | Special::ClusterCtas(_)
            | Special::ClusterCtaCount
            | Special::WarpCount
    )
}

/// The direction in which a term moves as a phi grows.
fn going(term: TermId, phi: u32, terms: &Terms) -> Option<Direction> {
    match *terms.node(term) {
        Node::Atom(Atom::Phi(own)) if own == phi => Some(Direction::Up),
        Node::Sum { ref parts, .. } => {
            let width = terms.width_of(term);
            let mut ways = parts
                .iter()
                .filter(|(part, _)| terms.atoms(*part).contains(&Atom::Phi(phi)))
                .map(|(part, factor)| {
                    let way = going(*part, phi, terms)?;
                    let less = Word::new(*factor, width).signed() < 0;
                    Some(if less { way.turned() } else { way })
                });
            let way = ways.next()??;
            ways.all(|other| other == Some(way)).then_some(way)
        }
        Node::Extend { term, .. } => going(term, phi, terms),
        Node::Binary(
            Binary::ShiftRightLogical
            | Binary::ShiftRightArithmetic
            | Binary::DivideSigned
            | Binary::DivideUnsigned,
            a,
            by,
        ) => {
            let positive = terms.signed(by).is_some_and(|by| by > 0);
            positive.then(|| going(a, phi, terms)).flatten()
        }
        _ => None,
    }
}

/// Whether a step goes in a direction at every launch. With `given`, at every launch whose
/// parameters are at least 1.
fn certain(step: TermId, way: Direction, given: bool, terms: &Terms) -> bool {
    let width = terms.width_of(step);
    let (constant, parts) = terms.linear(step);
    let signed = |bits: u128| {
        let signed = Word::new(bits, width).signed();
        match way {
            Direction::Up => Some(signed),
            Direction::Down => signed.checked_neg(),
        }
    };
    let falls = |bits: u128| signed(bits).is_none_or(|number| number < 0);
    if falls(constant) || parts.iter().any(|(_, factor)| falls(*factor)) {
        return false;
    }
    let none_falls = parts.iter().all(|(part, _)| natural(*part, terms));
    let one_goes = parts.iter().any(|(part, _)| positive(*part, given, terms));
    none_falls && (constant != 0 || one_goes)
}

/// Whether a term is at least 0 if the words of the launch are.
fn natural(term: TermId, terms: &Terms) -> bool {
    if let Some(number) = terms.signed(term) {
        return number >= 0;
    }
    let natural = |term: TermId| natural(term, terms);
    match *terms.node(term) {
        Node::Atom(Atom::Parameter { .. } | Atom::Special(_))
        | Node::Memory(_)
        | Node::Extend { signed: false, .. } => true,
        Node::Extend { term, signed: true } => natural(term),
        Node::Concatenate(high, _) => natural(high),
        Node::Sum {
            constant,
            ref parts,
        } => {
            let width = terms.width_of(term);
            let falls = |bits: u128| Word::new(bits, width).signed() < 0;
            let each = |(part, factor): &(TermId, u128)| !falls(*factor) && natural(*part);
            !falls(constant) && parts.iter().all(each)
        }
        Node::Binary(Binary::Multiply | Binary::DivideSigned, a, b) => natural(a) && natural(b),
        Node::Binary(Binary::And, a, b) => natural(a) || natural(b),
        Node::Binary(
            Binary::ShiftRightLogical
            | Binary::ShiftRightArithmetic
            | Binary::DivideUnsigned
            | Binary::RemainderUnsigned
            | Binary::RemainderSigned,
            a,
            _,
        ) => natural(a),
        Node::Select(_, a, b) => natural(a) && natural(b),
        _ => false,
    }
}

/// Whether a term is at least 1. With `given`, if the parameters are.
fn positive(term: TermId, given: bool, terms: &Terms) -> bool {
    let one = |term: TermId| positive(term, given, terms);
    match *terms.node(term) {
        Node::Constant(_) => terms.signed(term).is_some_and(|number| number >= 1),
        Node::Atom(Atom::Special(special)) => counts(special),
        Node::Atom(Atom::Parameter { .. }) => given,
        Node::Extend { term, .. } => one(term),
        Node::Concatenate(high, low) => natural(high, terms) && one(low),
        Node::Sum { .. } => certain(term, Direction::Up, given, terms),
        Node::Binary(Binary::Multiply, a, b) => one(a) && one(b),
        Node::Select(_, a, b) => one(a) && one(b),
        _ => false,
    }
}
