//! Words that are passed on by a store: `wait word == k; ..; word = k + 1`, as parts of a sum are added in order.
//!
//! Where each of those who do that has a word and a number of its own, `word += 1` has the same runs, and proofs take that. Until
//! somebody stores who finds another value than the one that was waited for, each store adds 1. The first one who does
//! would have waited for a value that has been stored over since, by somebody who waited for the same value of the same word:
//! there is nobody. What is compared is that the word and the number together tell CTAs and rounds apart, and that
//! nothing else is stored to such words.
//!
//! The one with the greatest number may store 0 instead, to leave the word as it was. All that wait have such numbers, and the one
//! with number 0 has waited before, so nobody sees the difference.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::memory::based;
use super::program::Program;
use super::program::each;
use super::program::never_looks;
use crate::ptx::warp::machine::Meaning;
use crate::ptx::warp::machine::Unknowns;
use crate::ptx::warp::statement::Action;
use crate::ptx::warp::statement::Statement;
use crate::ptx::warp::term::Atom;
use crate::ptx::warp::term::Condition;
use crate::ptx::warp::term::Sum;
use crate::ptx::warp::term::Unknown;

/// Adds where words are passed on.
pub(in crate::ptx) fn passed_on(programs: &mut [Program], unknowns: &Unknowns) {
    let mut writes: BTreeMap<Unknown, usize> = BTreeMap::new();
    let mut waits: BTreeMap<Unknown, usize> = BTreeMap::new();
    for program in programs.iter() {
        each(&program.statements, &mut |s| {
            let (all, address) = match &s.action {
                Action::CounterAdd(a, _) | Action::CounterSet(a, _) => (&mut writes, a),
                Action::CounterWait(a, ..) => (&mut waits, a),
                _ => return,
            };
            if let Some((pointer, _)) = based(address, unknowns) {
                *all.entry(pointer).or_default() += program.warps.len();
            }
        });
    }
    let once = |all: &BTreeMap<Unknown, usize>| -> BTreeSet<Unknown> {
        let own = all.iter().filter(|(_, times)| **times == 1);
        own.map(|(pointer, _)| *pointer).collect()
    };
    let mut passing = Passing {
        unknowns,
        written: once(&writes),
        waited: once(&waits),
        loops: Vec::new(),
    };
    for program in programs {
        passing.block(&mut program.statements);
    }
}

struct Passing<'p> {
    unknowns: &'p Unknowns,
    /// Pointers through which one warp writes one value.
    written: BTreeSet<Unknown>,
    /// Pointers through which one warp waits for one value.
    waited: BTreeSet<Unknown>,
    /// The loops around, with how often they run.
    loops: Vec<(Unknown, Sum)>,
}

impl Passing<'_> {
    fn block(&mut self, statements: &mut [Statement]) {
        let mut waited: Vec<(Sum, Sum)> = Vec::new();
        for statement in statements {
            match &mut statement.action {
                Action::For(number, times, body) => {
                    self.loops.push((*number, times.clone()));
                    self.block(body);
                    self.loops.pop();
                }
                Action::If(_, yes, no) => {
                    self.block(yes);
                    self.block(no);
                }
                Action::CounterWait(address, true, value) => {
                    waited.push((address.clone(), value.clone()));
                }
                Action::CounterSet(address, value) => {
                    let own = waited.iter().find(|(other, _)| other == address);
                    if let Some((_, number)) = own
                        && self.passes(address, number, value)
                    {
                        statement.action = Action::CounterAdd(address.clone(), Sum::of(1));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether who has waited for a number passes the word on to the next one.
    fn passes(&self, address: &Sum, number: &Sum, value: &Sum) -> bool {
        let Some((pointer, offset)) = based(address, self.unknowns) else {
            return false;
        };
        let next = number.plus_constant(1);
        let adds = match value.single() {
            _ if *value == next => true,
            Some((Atom::Choice(condition, yes, no), 1)) => {
                let (last, other) = match (yes.as_constant(), no.as_constant()) {
                    (Some(0), _) => ((**condition).clone(), &**no),
                    (_, Some(0)) => (condition.negated(), &**yes),
                    _ => return false,
                };
                *other == next && self.waited.contains(&pointer) && self.greatest(number, &last)
            }
            _ => false,
        };
        adds && self.written.contains(&pointer) && self.apart([offset, number.clone()])
    }

    /// What differs between CTAs and rounds, and how many values it takes.
    fn moving(&self) -> Vec<(Unknown, Option<Sum>)> {
        let blocks = (0..3).filter_map(|axis| {
            let extent = self.unknowns.find(&Meaning::Blocks(axis));
            let block = self.unknowns.find(&Meaning::Block(axis));
            Some((block?, extent.map(Sum::unknown)))
        });
        let loops = self
            .loops
            .iter()
            .map(|(n, times)| (*n, Some(times.clone())));
        blocks.chain(loops).collect()
    }

    /// Whether a number is the greatest there is where this holds.
    fn greatest(&self, number: &Sum, holds: &Condition) -> bool {
        let Condition::Zero(sum) = holds else {
            return false;
        };
        self.moving().into_iter().any(|(unknown, extent)| {
            let own = Sum::unknown(unknown);
            let Some(extent) = extent else { return false };
            let last = extent.minus(&own).plus_constant(-1);
            number.minus(&own).as_constant() == Some(0) && (*sum == last || *sum == last.scaled(-1))
        })
    }

    /// Whether these two together are other in every CTA and in every round of the loops around.
    fn apart(&self, parts: [Sum; 2]) -> bool {
        // Nor can those of a grid that the kernel never looks at.
        if never_looks(self.unknowns) {
            return false;
        }
        let mut open: BTreeSet<Unknown> = self.moving().into_iter().map(|(u, _)| u).collect();
        // Of an axis that the kernel knows only the extent of, CTAs cannot be told apart.
        let blind = |axis: usize| {
            self.unknowns.find(&Meaning::Blocks(axis)).is_some()
                && self.unknowns.find(&Meaning::Block(axis)).is_none()
        };
        if (0..3).any(blind) {
            return false;
        }
        let fixed = |u: Unknown| {
            matches!(
                self.unknowns.meaning(u),
                Some(Meaning::Parameter(..) | Meaning::Blocks(_))
            )
        };
        let known = open.clone();
        if parts
            .iter()
            .any(|part| part.mentions(&|u| !fixed(u) && !known.contains(&u)) || part.reads_memory())
        {
            return false;
        }
        loop {
            let mut found = None;
            for part in &parts {
                let here: Vec<Unknown> = open
                    .iter()
                    .copied()
                    .filter(|u| part.mentions(&|v| v == *u))
                    .collect();
                if let [one] = here.as_slice()
                    && let Some((slope, _)) = part.split(*one)
                    && slope.as_constant().is_some_and(|slope| slope != 0)
                {
                    found = Some(*one);
                }
            }
            let Some(one) = found else {
                return open.is_empty();
            };
            open.remove(&one);
        }
    }
}
