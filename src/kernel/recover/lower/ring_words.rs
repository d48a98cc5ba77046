//! Trip counts of loops that ring words control ([`crate::recover::ring_words`]).

use std::collections::BTreeSet;

use super::Inputs;
use super::Lowerer;
use super::MOST;
use super::Origin;
use crate::meaning::Domain;
use crate::recover::launch::is_launch;
use crate::recover::number::Atomic;
use crate::recover::number::Number;
use crate::recover::ring_words::RingWordLoop;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::tree::LoopId;

/// The words among which one is looked for with which a loop goes on, and one with which it ends.
const WORDS: [u64; 6] = [1, 0, 2, u64::MAX, 3, 255];

impl Inputs {
    /// The input for how often a condition on a ring word holds before it fails. If the launch
    /// decides whether there is a first iteration, that iteration is counted as well.
    pub(super) fn ring_words(&mut self, key: TermId, first: Option<TermId>) -> u32 {
        if let Some(number) = self.ring_words.get(&(key, first)) {
            return *number;
        }
        let number = self.add(
            "handed_over".to_owned(),
            "rounds that a word asks for which a warp hands over in shared memory".to_owned(),
            BTreeSet::new(),
            (0, MOST),
            Origin::RingWordTrips { first },
        );
        self.ring_words.insert((key, first), number);
        number
    }
}

impl Lowerer<'_> {
    /// The trip count of a loop that goes on while ring words pass a test: the word of this
    /// iteration, or that of the iteration before. In the latter case, a condition of the launch
    /// decides about the first iteration.
    pub(super) fn ring_word_trips(&mut self, goes_on: TermId, id: LoopId) -> Option<Number> {
        self.arena.ring_words.as_ref()?;
        let word_in = |lowerer: &Self, term: TermId| match *lowerer.arena.terms.atoms(term) {
            [Atom::RingWord(load)] => Some(load),
            _ => None,
        };
        let (first, condition) = match word_in(self, goes_on) {
            Some(_) => (None, goes_on),
            None => {
                let atoms = self.arena.terms.atoms(goes_on);
                let [Atom::Phi(phi)] = *atoms else {
                    return None;
                };
                let record = self.arena.phis[phi as usize].clone();
                if record.in_loop != id {
                    return None;
                }
                let terms = &mut self.arena.terms;
                let [first, next] = [record.first, record.next].map(|value| {
                    terms.substitute(goes_on, &|atom| (atom == Atom::Phi(phi)).then_some(value))
                });
                (Some(first).filter(|first| is_launch(*first, terms)), next)
            }
        };
        let load = word_in(self, condition)?;
        let width = self
            .arena
            .ring_words
            .as_ref()?
            .loads
            .get(load as usize)?
            .width;
        let holds = |lowerer: &mut Self, number: u64| {
            let terms = &mut lowerer.arena.terms;
            let number = terms.constant(number.into(), width);
            let term = terms.substitute(condition, &|_| Some(number));
            terms.truth(term)
        };
        let mut found = [None; 2];
        for number in WORDS {
            let holds = holds(self, number)?;
            found[usize::from(holds)].get_or_insert(number);
        }
        let [Some(no_more), Some(more)] = found else {
            return None;
        };
        let terms = &mut self.arena.terms;
        // The same condition of the same word has the same number for all warps.
        let word = terms.atom(Atom::RingWord(u32::MAX), width);
        let key = terms.substitute(condition, &|_| Some(word));
        let certain = match first {
            Some(first) => self.arena.terms.truth(first),
            None if word_in(self, goes_on).is_some() => Some(true),
            None => return None,
        };
        let at_first = match certain {
            Some(false) => return Some(Number::default()),
            Some(true) => None,
            None => first,
        };
        let input = self.inputs.ring_words(key, at_first);
        self.inputs.ring_word_loops.push(RingWordLoop {
            in_loop: id,
            load,
            input,
            words: (more, no_more),
        });
        // If each iteration is decided by the word of the one before, there is one iteration more
        // than words with which the loop goes on.
        let before = i128::from(certain == Some(true) && word_in(self, goes_on).is_none());
        Number::of(Atomic::Input(input)).plus(&Number::constant(before))
    }
}
