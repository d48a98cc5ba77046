//! Loops that wait until a word of global memory has some value, additions to such words, and
//! stores.
//!
//! For example, `seen = 0; while (seen != n) seen = load(word);` becomes
//! `if n != 0 { wait until word == n }`. The first test is about the value before the loop. Every
//! other test is about the result of the load before.
//!
//! The first iteration is walked by itself, and then one that stands for all others. In that one,
//! registers that the first iteration has changed are unknown, unless they are the result of the
//! load. It has to end with what it began with, where the result of its own load takes the place of
//! the result before. So every iteration is like it. Each iteration looks once, at the same
//! address, and only the result decides whether the loop is left. So the first look that finds such
//! a value leaves the loop, and no other does.

use std::collections::BTreeSet;

use super::Path;
use super::Purpose;
use super::Result;
use super::Value;
use super::Walker;
use super::acts;
use super::lane_of;
use super::packed;
use super::refuse;
use crate::cfg::Loop;
use crate::ir::BlockId;
use crate::ir::Location;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::RegisterId;
use crate::ir::Synchronization;
use crate::meaning::Domain;
use crate::meaning::Relation;
use crate::meaning::Word;
use crate::recover::role_ir::Passes;
use crate::recover::slice::is_event;
use crate::recover::term::Node;
use crate::recover::term::TermId;
use crate::recover::tree::EventKind;
use crate::recover::tree::MOST_MORE;
use crate::recover::tree::Statement;
use crate::recover::tree::Undecided;
use crate::recover::tree::not_known;
use crate::recover::tree::refuse_undecided;

/// A look at a word: its address, the term for its result, and which operation it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    address: TermId,
    found: TermId,
    location: Location,
}

/// The outcome of an iteration: its looks, what leaves the loop, and what begins the next
/// iteration.
struct Walked {
    looks: Vec<Look>,
    left: Option<Path>,
    again: Option<Path>,
}

/// What is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Awaited {
    value: TermId,
    passes: Passes,
    /// See [`EventKind::CounterWait`].
    compared: Option<TermId>,
}

const SEVERAL: &str = "a loop waits for more than one word of memory, or for other than that it is some value or at least \
                       that";

/// How often what changes from round to round is given up.
const MOST_ROUNDS: u32 = 8;

impl Walker<'_> {
    /// Whether a loop does nothing but look at global memory.
    pub(super) fn looks_at_memory(&self, natural: &Loop) -> bool {
        if self.purpose != Purpose::Events {
            return false;
        }
        let blocks = natural.blocks.iter();
        let mut events = blocks
            .flat_map(|block| &self.kernel.blocks[block.0 as usize].operations)
            .filter(|operation| is_event(operation))
            .peekable();
        events.peek().is_some()
            && events.all(|operation| {
                matches!(
                    operation.kind,
                    OperationKind::Synchronization(Synchronization::CounterLook { .. })
                )
            })
    }

    /// The result of a look is not known. If the look stands in a loop that waits, it is noted.
    pub(super) fn look(
        &mut self,
        result: RegisterId,
        address: Operand,
        mask: u32,
        path: &mut Path,
        location: &Location,
    ) -> Result<()> {
        let address = self.operand(address, 64, &path.state);
        let width = self.width_of(result);
        let found = self.unknown_of(width);
        let mut lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let first = lanes.next().map_or(found, |lane| lane_of(&address, lane));
        if lanes.any(|lane| lane_of(&address, lane) != first) {
            return refuse(
                "lanes of a warp wait for different words of memory",
                location,
            );
        }
        if let Some(looks) = &mut self.looking {
            looks.push(Look {
                address: first,
                found,
                location: location.clone(),
            });
        }
        self.set(result, Value::Uniform(found), mask, path);
        Ok(())
    }

    /// An addition to a word, once for each group of lanes that add the same to the same word.
    pub(super) fn add_to_counter(
        &mut self,
        address: Operand,
        (value, width): (Operand, u16),
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        let Some((address, value)) = self.change((address, value, width), mask, path, location)?
        else {
            return Ok(());
        };
        let mut groups: Vec<((TermId, TermId), u32)> = Vec::new();
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let terms = (lane_of(&address, lane), lane_of(&value, lane));
            match groups.iter_mut().find(|(other, _)| *other == terms) {
                Some((_, lanes)) => *lanes += 1,
                None => groups.push((terms, 1)),
            }
        }
        let alone = alone(mask);
        for ((address, value), lanes) in groups {
            let kind = EventKind::CounterAdd {
                address,
                value,
                lane: alone,
            };
            self.put_event(kind, lanes, location, out);
        }
        Ok(())
    }

    /// The addresses and the numbers of a change to words, if events are asked for.
    fn change(
        &mut self,
        (address, value, width): (Operand, Operand, u16),
        mask: u32,
        path: &Path,
        location: &Location,
    ) -> Result<Option<(Value, Value)>> {
        if self.purpose == Purpose::Together {
            return Ok(None);
        }
        self.in_order(mask, path, location)?;
        let address = self.operand(address, 64, &path.state);
        Ok(Some((address, self.operand(value, width, &path.state))))
    }

    /// A store to a word, once for each lane.
    pub(super) fn set_counter(
        &mut self,
        address: Operand,
        (value, width, ordered): (Operand, u16, bool),
        mask: u32,
        path: &Path,
        out: &mut Vec<Statement>,
        location: &Location,
    ) -> Result<()> {
        let Some((address, value)) = self.change((address, value, width), mask, path, location)?
        else {
            return Ok(());
        };
        let mut seen = BTreeSet::new();
        let alone = alone(mask);
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let (address, value) = (lane_of(&address, lane), lane_of(&value, lane));
            if !seen.insert(address) {
                return refuse(
                    "lanes of a warp store to one word of memory together",
                    location,
                );
            }
            let kind = EventKind::CounterSet {
                address,
                value,
                lane: alone,
                ordered,
            };
            self.put_event(kind, 1, location, out);
        }
        Ok(())
    }

    /// A loop that only looks at global memory: a wait.
    pub(super) fn await_counter(
        &mut self,
        natural: &Loop,
        path: Path,
        out: &mut Vec<Statement>,
        depth: u32,
    ) -> Result<Option<(BlockId, Path)>> {
        let header = natural.header;
        let location = self.kernel.blocks[header.0 as usize].location.clone();
        let Some(follow) = self.graph.follow(natural) else {
            return refuse(SEVERAL, &location);
        };
        let first = self.round(header, follow, &path, depth, &location)?;
        let Some(again) = first.again else {
            // The loop is always left before the result of the first look is tested.
            return match first.left {
                Some(left) if first.looks.is_empty() => Ok(Some((follow, left))),
                _ => refuse(SEVERAL, &location),
            };
        };
        let [look] = first.looks.as_slice() else {
            return refuse(SEVERAL, &location);
        };
        let (later, left) = self.later(natural, &path, again, look, depth, &location)?;
        let awaited = self.awaited(later, look)?;
        // What leaves the loop in its first iteration: it tests the result of that look, or a value
        // from before.
        let mut before = None;
        let left = match first.left {
            None => left,
            Some(early) => {
                let condition = early.condition;
                if self.mentions(condition, look.found) {
                    if condition != later {
                        return refuse(SEVERAL, &location);
                    }
                    self.either_way(early, &left, path.mask)
                } else {
                    if self.is_opaque(condition) {
                        let what = not_known(condition, self.terms, self.loaded);
                        return refuse_undecided(Undecided::Branch, &what, &location);
                    }
                    before = Some(condition);
                    self.chosen(condition, early, left)
                }
            }
        };
        let kind = EventKind::CounterWait {
            address: look.address,
            value: awaited.value,
            passes: awaited.passes,
            compared: awaited.compared,
        };
        let mut wait = Vec::new();
        self.put_event(kind, path.mask.count_ones(), &look.location, &mut wait);
        match before {
            None => out.append(&mut wait),
            Some(condition) => out.push(Statement::If {
                condition,
                then: Vec::new(),
                otherwise: wait,
                location,
            }),
        }
        let mut left = left;
        for (now, before) in left.state.iter_mut().zip(&path.state) {
            // Other lanes do not execute the loop.
            if let (Some(here), Some(before)) = (&*now, before)
                && here != before
            {
                *now = Some(packed(std::array::from_fn(|lane| {
                    let executes = path.mask >> lane & 1 == 1;
                    lane_of(if executes { here } else { before }, lane)
                })));
            }
        }
        left.mask = path.mask;
        left.condition = path.condition;
        left.position = path.position.clone();
        left.waited = self.waited_by(left.mask, &left);
        Ok(Some((follow, left)))
    }

    /// The condition under which any later iteration leaves the loop, over the result of `look`,
    /// and what leaves it then.
    fn later(
        &mut self,
        natural: &Loop,
        path: &Path,
        again: Path,
        look: &Look,
        depth: u32,
        location: &Location,
    ) -> Result<(TermId, Path)> {
        let (header, Some(follow)) = (natural.header, self.graph.follow(natural)) else {
            return refuse(SEVERAL, location);
        };
        let mask = path.mask;
        let mut start = again;
        start.condition = path.condition;
        let mut given_up = BTreeSet::new();
        for register in 0..start.state.len() {
            let now = start.state[register].as_ref();
            if !alike(now, path.state[register].as_ref(), mask) && !is_found(now, look, mask) {
                given_up.insert(register);
                self.give_up(&mut start, register);
            }
        }
        for _ in 0..MOST_ROUNDS {
            let walked = self.round(header, follow, &start, depth, location)?;
            let ([next], Some(left), Some(again)) =
                (walked.looks.as_slice(), &walked.left, &walked.again)
            else {
                return refuse(SEVERAL, location);
            };
            if next.address != look.address {
                return refuse(SEVERAL, location);
            }
            let before = given_up.len();
            for register in 0..start.state.len() {
                let (then, now) = (
                    start.state[register].as_ref(),
                    again.state[register].as_ref(),
                );
                let same = alike(then, now, mask)
                    || is_found(then, look, mask) && is_found(now, next, mask)
                    || given_up.contains(&register);
                if !same {
                    given_up.insert(register);
                    self.give_up(&mut start, register);
                }
            }
            if given_up.len() > before {
                continue;
            }
            // The test stands before the look, and is about the result before; or it stands behind
            // the look.
            let old = self.mentions(left.condition, look.found);
            let new = self.mentions(left.condition, next.found);
            let condition = match (old, new) {
                (true, false) => left.condition,
                (false, true) => {
                    let (from, to) = (self.terms.node(next.found).clone(), look.found);
                    let Node::Atom(from) = from else {
                        return refuse(SEVERAL, location);
                    };
                    self.terms
                        .substitute(left.condition, &|atom| (atom == from).then_some(to))
                }
                _ => return refuse(SEVERAL, location),
            };
            return Ok((condition, left.clone()));
        }
        refuse(SEVERAL, location)
    }

    /// One iteration: what leaves the loop and what goes on, each under its condition.
    fn round(
        &mut self,
        header: BlockId,
        follow: BlockId,
        start: &Path,
        depth: u32,
        location: &Location,
    ) -> Result<Walked> {
        let outer = self.looking.replace(Vec::new());
        let (walked, done) = self.once_around(header, follow, start, depth);
        let looks = std::mem::replace(&mut self.looking, outer).unwrap_or_default();
        let Some(mut frame) = walked? else {
            return refuse(SEVERAL, location);
        };
        let whole = |path: &Path| path.mask == start.mask;
        if done.iter().any(acts)
            || frame.breaks.len() > 1
            || frame.continues.len() > 1
            || !frame.breaks.iter().chain(&frame.continues).all(whole)
        {
            return refuse(SEVERAL, location);
        }
        Ok(Walked {
            looks,
            left: frame.breaks.pop(),
            again: frame.continues.pop(),
        })
    }

    /// What is awaited if a loop is left under a condition on the result.
    fn awaited(&mut self, condition: TermId, look: &Look) -> Result<Awaited> {
        let found = self.predicate(condition, look.found);
        let usable = found.filter(|awaited| !self.is_opaque(awaited.value));
        match usable {
            Some(awaited) => Ok(awaited),
            None => refuse(SEVERAL, &look.location),
        }
    }

    /// A condition as one that a word is a value or at least that.
    fn predicate(&mut self, condition: TermId, found: TermId) -> Option<Awaited> {
        let width = self.terms.width_of(found);
        let exactly = |value: TermId| Awaited {
            value,
            passes: Passes::At,
            compared: None,
        };
        let at_least = |value: TermId| Awaited {
            value,
            passes: Passes::From,
            compared: None,
        };
        match *self.terms.node(condition) {
            Node::Relation(Relation::Equal, a, b) if self.terms.width_of(a) == width => {
                // `found - value == 0`, or `value - found == 0`.
                let difference = self.terms.difference(a, b);
                let (constant, parts) = self.terms.linear(difference);
                let (_, factor) = *parts.iter().find(|(part, _)| *part == found)?;
                let sign = Word::new(factor, width).signed();
                let rest: Vec<_> = parts
                    .iter()
                    .copied()
                    .filter(|(part, _)| *part != found)
                    .collect();
                let rest = self.terms.sum(constant, &rest, width);
                let value = match sign {
                    1 => {
                        let zero = self.terms.constant(0, width);
                        self.terms.difference(zero, rest)
                    }
                    -1 => rest,
                    _ => return None,
                };
                (!self.mentions(value, found)).then(|| exactly(value))
            }
            Node::Not(inner) => match *self.terms.node(inner) {
                Node::Relation(Relation::Equal, a, b) => {
                    let other = if a == found { b } else { a };
                    let is_zero = self.terms.value(other) == Some(0);
                    let one = self.terms.constant(1, width);
                    (is_zero && (a == found || b == found)).then(|| Awaited {
                        passes: Passes::OtherThanZero,
                        ..at_least(one)
                    })
                }
                // At least `b`.
                Node::Relation(
                    relation @ (Relation::LessSigned | Relation::LessUnsigned),
                    a,
                    b,
                ) if !self.mentions(b, found) => {
                    let more = self.more_than(a, found, relation)?;
                    let value = self.less_by(b, more);
                    Some(Awaited {
                        compared: (more > 0).then_some(b),
                        ..at_least(value)
                    })
                }
                _ => None,
            },
            // More than `a`.
            Node::Relation(relation @ (Relation::LessSigned | Relation::LessUnsigned), a, b)
                if !self.mentions(a, found) =>
            {
                let more = self.more_than(b, found, relation)?;
                let value = self.less_by(a, more - 1);
                let compares = more > 0 || relation == Relation::LessUnsigned;
                Some(Awaited {
                    compared: compares.then_some(a),
                    ..at_least(value)
                })
            }
            _ => None,
        }
    }

    /// The constant, from 0 on, by which a term that is compared is more than the value of the
    /// word. A word is at most 2^31 - 1. So the sum does not wrap around if the comparison has no
    /// sign. With a sign, it is negative if the value is large enough: a wait for `found + 4 >= 10`
    /// does not pass at 2^31 - 1.
    fn more_than(&self, term: TermId, found: TermId, compared: Relation) -> Option<i128> {
        let (constant, parts) = self.terms.linear(term);
        let more = Word::new(constant, self.terms.width_of(term)).signed();
        let most = match compared {
            Relation::LessUnsigned => MOST_MORE,
            _ => 0,
        };
        (*parts == [(found, 1)] && (0..=most).contains(&more)).then_some(more)
    }

    fn less_by(&mut self, term: TermId, less: i128) -> TermId {
        let width = self.terms.width_of(term);
        let less = self.terms.constant(less.cast_unsigned(), width);
        self.terms.difference(term, less)
    }

    fn mentions(&self, term: TermId, atom: TermId) -> bool {
        let Node::Atom(atom) = self.terms.node(atom) else {
            return true;
        };
        self.terms.atoms(term).contains(atom)
    }

    /// Joins two exits of a loop. Where they differ in these lanes, nothing is known.
    fn either_way(&mut self, mut one: Path, other: &Path, mask: u32) -> Path {
        for register in 0..one.state.len() {
            let (now, then) = (one.state[register].as_ref(), other.state[register].as_ref());
            if !alike(now, then, mask) {
                self.give_up(&mut one, register);
            }
        }
        one
    }
}

/// The lane of a mask, if there is but one.
fn alone(mask: u32) -> Option<u32> {
    (mask.count_ones() == 1).then(|| mask.trailing_zeros())
}

/// Whether a register is the same in some lanes.
fn alike(one: Option<&Value>, other: Option<&Value>, mask: u32) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return one == other;
    };
    let mut lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
    lanes.all(|lane| lane_of(one, lane) == lane_of(other, lane))
}

/// Whether a register is the result of a look, in some lanes.
fn is_found(value: Option<&Value>, look: &Look, mask: u32) -> bool {
    let mut lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
    value.is_some_and(|value| lanes.all(|lane| lane_of(value, lane) == look.found))
}
