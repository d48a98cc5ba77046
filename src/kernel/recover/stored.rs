//! Stores to words of global memory that CTAs wait for.
//!
//! A store is `word = v` in the text, which is what it does. But proofs of additions succeed more
//! often, and additions may be seen in any order. So there are three kinds of arrays:
//!
//! - *Flags*. No stored value is ever 0. Each wait passes at all stored values and not at 0. A word
//!   is 0 until the first store, and one of these values from then on. So a wait passes as soon as
//!   there has been any store: `word += 1` and `wait word >= 1` have the same runs. This holds for
//!   stores of any number, order and sign, from any thread.
//! - *One number*. All stored and awaited values are one number that the launch gives to all CTAs
//!   alike. A word is 0 until the first store, and that number `v` from then on. `v` is not below
//!   0, so `word == v` is `word >= v`.
//! - *Others* keep stores and waits as they are. No word is below 0 then. So `word != 0` is
//!   `word >= 1`, and a comparison with sign is one without. In each warp, the same single lane
//!   does all stores and additions to such words, because lanes are in no order. Words that are
//!   both stored and added to are of this kind.
//!
//! In the text, all members see the changes of all words in one order, which agrees with the
//! program of each member. PTX guarantees less. One of these has to hold:
//!
//! - Each addition and store to any awaited word of the kernel is a release, and each look an
//!   acquire, or a fence stands beside it. Then a thread that has seen a store also sees what
//!   happened before that store. PTX still lets two threads that write the same two words in
//!   opposite order end with both earlier values. One order excludes that, and so the verdict
//!   prints that all see semaphores in one order.
//! - No word ever becomes less. That holds for additions, for flags, for one number, and for
//!   others if one thread stores to a word, and the stored values never become less. Then a run of
//!   the kernel is also a run of the text. Take the actions of all threads in an order in which
//!   each comes after what precedes it in its program, and each look after the store that it
//!   reads. A wait for at least `v` that passes in the kernel passes there as well, since the word
//!   is no less. A wait for exactly `v` may come too late in that order. Then the text has a hang,
//!   and is not proved.

use std::collections::BTreeMap;

use crate::ir::Location;
use crate::recover::family::each;
use crate::recover::number::Atomic;
use crate::recover::number::Condition;
use crate::recover::number::Number;
use crate::recover::number::Range;
use crate::recover::role_ir::Action;
use crate::recover::role_ir::Line;
use crate::recover::role_ir::Passes;
use crate::recover::role_ir::Role;
use crate::recover::role_ir::Word;
use crate::recover::role_ir::counts;
use crate::recover::role_ir::every_line_mut;
use crate::recover::tree::Obstacle;
use crate::recover::tree::refuse;

const NEGATIVE: &str = "CTAs wait for a word of memory that is set to a negative number. That is followed only if nothing else is stored \
                        there, and each wait is for exactly that number";
const UNORDERED: &str = "a word of memory that CTAs wait for is set to several numbers, and some additions, stores or looks may be seen in any \
                         order: they are neither releases and acquires nor beside a fence";
const LANES: &str =
    "several lanes of a warp set words of memory that CTAs wait for: the lanes are in no order";

/// The most that is stored.
const MOST_STORED: i128 = (1 << 31) - 1;

/// The range of an atomic, for these trip counts of loops.
pub type RangeOf<'a> = dyn Fn(&Atomic, &BTreeMap<u32, Number>) -> Option<Range> + 'a;

/// The words of one array, and what is known of inputs.
pub struct Words<'a> {
    /// Whether a word is of the array.
    pub contains: &'a dyn Fn(&Word) -> bool,
    /// Whether an input is another number in another CTA.
    pub differs: &'a dyn Fn(u32) -> bool,
    /// The input that is the number of a CTA.
    pub turn: Option<u32>,
    pub range: &'a RangeOf<'a>,
}

/// What is done with the words.
#[derive(Default)]
struct Uses {
    added: bool,
    /// The stored values, and their ranges.
    stores: Vec<(Number, Option<Range>, Location)>,
    waits: Vec<(Passes, Number)>,
}

/// What becomes of the stores to an array.
enum Kind {
    Flags,
    OneNumber,
    Others,
}

impl Words<'_> {
    /// Turns flags into additions, and refuses stores for which the text would be wrong.
    pub fn settle(&self, roles: &mut [Role]) -> Result<(), Obstacle> {
        let uses = self.uses(roles);
        if uses.stores.is_empty() {
            return Ok(());
        }
        match self.kind(&uses) {
            Kind::Flags => self.change(roles, &mut raise),
            Kind::OneNumber => self.change(roles, &mut |action| {
                if let Action::CounterWait { passes, .. } = action {
                    *passes = Passes::From;
                }
            }),
            Kind::Others => {
                for (value, _, location) in &uses.stores {
                    let constant = value.as_constant();
                    if constant.is_some_and(|value| !(0..=MOST_STORED).contains(&value)) {
                        return refuse(NEGATIVE, location);
                    }
                }
                let grows = !uses.added && self.grows(roles);
                for role in roles.iter() {
                    self.ordered(role, grows)?;
                }
            }
        }
        Ok(())
    }

    fn uses(&self, roles: &[Role]) -> Uses {
        let mut uses = Uses::default();
        for role in roles {
            let counts = counts(&role.lines);
            let range = |atomic: &Atomic| (self.range)(atomic, &counts);
            each(&role.lines, &mut |action, location| match action {
                Action::CounterAdd { word, .. } if (self.contains)(word) => uses.added = true,
                Action::CounterSet { word, value, .. } if (self.contains)(word) => {
                    let store = (value.clone(), value.range(&range), location.clone());
                    uses.stores.push(store);
                }
                Action::CounterWait {
                    word,
                    value,
                    passes,
                    ..
                } if (self.contains)(word) => uses.waits.push((*passes, value.clone())),
                _ => {}
            });
        }
        uses
    }

    fn kind(&self, uses: &Uses) -> Kind {
        // The least and the greatest stored value, or `None` if they are not known.
        let ends = uses
            .stores
            .iter()
            .map(|(_, range, _)| *range)
            .reduce(|one, other| match (one, other) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                _ => None,
            })
            .flatten();
        if uses.added {
            return Kind::Others;
        }
        let stored = |value: i128| ends.is_some_and(|ends| ends == (value, value));
        let above_0 = ends.is_some_and(|(least, _)| least > 0);
        let never_0 = uses
            .stores
            .iter()
            .all(|(_, range, _)| range.is_some_and(|(least, greatest)| least > 0 || greatest < 0));
        let flags = |(passes, number): &(Passes, Number)| match (passes, number.as_constant()) {
            (Passes::OtherThanZero, _) => true,
            (Passes::At, Some(number)) => stored(number),
            // With and without a sign alike.
            (Passes::From, Some(number)) => {
                above_0 && number > 0 && ends.is_some_and(|(least, _)| number <= least)
            }
            (Passes::At | Passes::From, None) => false,
        };
        if never_0 && uses.waits.iter().all(flags) {
            return Kind::Flags;
        }
        let Some((one, _, _)) = uses.stores.first() else {
            return Kind::Others;
        };
        let own = |atomic: &Atomic| match atomic {
            Atomic::Input(input) => (self.differs)(*input),
            Atomic::Index(_) | Atomic::Variable(_) | Atomic::Entry(_) | Atomic::Applied(_) => true,
            Atomic::Quotient(..)
            | Atomic::Remainder(..)
            | Atomic::Modulo(..)
            | Atomic::Minimum(..)
            | Atomic::Maximum(..)
            | Atomic::Product(..) => false,
        };
        let natural = one.is_natural(&|atomic| (self.range)(atomic, &BTreeMap::new()));
        let same = uses.stores.iter().all(|(other, _, _)| other == one)
            && uses
                .waits
                .iter()
                .all(|(passes, number)| *passes != Passes::OtherThanZero && number == one);
        match same && natural && !one.mentions(&own) {
            true => Kind::OneNumber,
            false => Kind::Others,
        }
    }

    fn change(&self, roles: &mut [Role], with: &mut dyn FnMut(&mut Action)) {
        for role in roles {
            every_line_mut(&mut role.lines, &mut |line| {
                if let Line::Action { action, .. } = line
                    && let Action::CounterSet { word, .. } | Action::CounterWait { word, .. } =
                        action
                    && (self.contains)(word)
                {
                    with(action);
                }
            });
        }
    }

    /// Refuses stores and additions of a role that others may not see in program order. If `grows`,
    /// the order does not matter.
    fn ordered(&self, role: &Role, grows: bool) -> Result<(), Obstacle> {
        let mut found: Result<Option<u32>, Obstacle> = Ok(None);
        each(&role.lines, &mut |action, location| {
            let Ok(lane) = found.as_ref().copied() else {
                return;
            };
            let (own, ordered) = match action {
                Action::CounterSet {
                    word,
                    lane,
                    ordered,
                    ..
                } if (self.contains)(word) => (*lane, *ordered),
                Action::CounterAdd { word, lane, .. } if (self.contains)(word) => (*lane, true),
                _ => return,
            };
            found = match own {
                _ if !ordered && !grows => refuse(UNORDERED, location),
                Some(own) if lane.is_none_or(|lane| lane == own) => Ok(Some(own)),
                _ => refuse(LANES, location),
            };
        });
        found.map(|_| ())
    }

    /// Whether one thread stores to each word, and the stored values never become less. That holds
    /// for one statement of one warp, in at most one loop, if one CTA executes it or each CTA has
    /// a word of its own.
    fn grows(&self, roles: &[Role]) -> bool {
        let mut stores = Vec::new();
        for role in roles {
            let mut around = Around::default();
            self.gather(role, &role.lines, &mut around, &mut stores);
        }
        let [store] = stores.as_slice() else {
            return false;
        };
        let Store {
            warps: 1,
            loops,
            one_cta,
            word,
            value,
        } = store
        else {
            return false;
        };
        let turn = self.turn.map(Atomic::Input);
        let factor = |number: &Number, atomic: &Atomic| number.parts.get(atomic).copied();
        // An index that depends on the number of the CTA, and on no loop, differs in all other CTAs.
        let simple = word.parts.keys().all(|atomic| match atomic {
            Atomic::Input(input) => Some(*input) == self.turn || !(self.differs)(*input),
            _ => false,
        });
        let own = turn.is_some_and(|turn| factor(word, &turn).is_some());
        let rises = match loops.as_slice() {
            [] => true,
            [index] => {
                let index = Atomic::Index(*index);
                let inside = |atomic: &Atomic| match atomic {
                    Atomic::Input(_) => true,
                    other => *other == index,
                };
                value.parts.keys().all(inside)
                    && factor(value, &index).is_none_or(|factor| factor >= 0)
            }
            _ => false,
        };
        simple && rises && (*one_cta || own)
    }

    fn gather(&self, role: &Role, lines: &[Line], around: &mut Around, found: &mut Vec<Store>) {
        for line in lines {
            match line {
                Line::Action {
                    action: Action::CounterSet { word, value, .. },
                    ..
                } if (self.contains)(word) => found.push(Store {
                    warps: role.warps.len(),
                    loops: around.loops.clone(),
                    one_cta: around.one_cta,
                    word: word.index.clone(),
                    value: value.clone(),
                }),
                Line::For { index, body, .. } => {
                    around.loops.push(*index);
                    self.gather(role, body, around, found);
                    around.loops.pop();
                }
                Line::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    for (side, one) in [
                        (then, self.is_one_cta(condition, true)),
                        (otherwise, self.is_one_cta(condition, false)),
                    ] {
                        let before = around.one_cta;
                        around.one_cta |= one;
                        self.gather(role, side, around, found);
                        around.one_cta = before;
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a condition holds (or fails, if not `holds`) in one CTA at most.
    fn is_one_cta(&self, condition: &Condition, holds: bool) -> bool {
        let number = match (condition, holds) {
            (Condition::Zero(number), true) | (Condition::NotZero(number), false) => number,
            _ => return false,
        };
        let Some(turn) = self.turn else {
            return false;
        };
        let alike = |atomic: &Atomic| match atomic {
            Atomic::Input(input) => *input == turn || !(self.differs)(*input),
            _ => false,
        };
        number.parts.contains_key(&Atomic::Input(turn)) && number.parts.keys().all(alike)
    }
}

/// The loops around a line, and whether at most one CTA executes it.
#[derive(Default)]
struct Around {
    loops: Vec<u32>,
    one_cta: bool,
}

/// A statement that stores.
struct Store {
    warps: usize,
    loops: Vec<u32>,
    one_cta: bool,
    word: Number,
    value: Number,
}

/// Turns a flag into the count of its stores.
fn raise(action: &mut Action) {
    match action {
        Action::CounterSet { word, lane, .. } => {
            *action = Action::CounterAdd {
                word: word.clone(),
                value: Number::constant(1),
                lane: *lane,
            };
        }
        Action::CounterWait { value, passes, .. } => {
            *passes = Passes::From;
            *value = Number::constant(1);
        }
        _ => {}
    }
}
