//! What entries say of the words of memory at a launch: by their place, whatever address the kernel computes.

use std::collections::BTreeMap;

use crate::interpret::Launch;
use crate::meaning::Word;
use crate::recover::applied::Applied;
use crate::recover::applied::Function;
use crate::recover::at_launch;
use crate::recover::entry::Entry;
use crate::recover::entry::Memory;
use crate::recover::lower::Inputs;
use crate::recover::number::Number;
use crate::recover::term::Atom;
use crate::recover::term::TermId;
use crate::recover::term::Terms;
use crate::recover::terms_at::Values;
use crate::recover::tests_of_words::passes;
use crate::recover::tests_of_words::samples;

/// What may lie in the memory that entries are of.
#[derive(Debug, Default)]
pub struct Tests {
    /// Of each memory the words that lie at its pointer at some launch, and whether they pass its test.
    passing: Vec<BTreeMap<u64, bool>>,
    /// Of each pointer, as many words that pass a test as that do not, one after the other. None where it is only looked at whether
    /// they are 0.
    words: BTreeMap<u32, Vec<u64>>,
}

impl Tests {
    pub fn new(inputs: &Inputs, terms: &mut Terms) -> Self {
        let mut words: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for memory in &inputs.memories {
            words.entry(memory.pointer).or_default();
            let Some(test) = memory.test.as_ref().filter(|_| !memory.is_function()) else {
                continue;
            };
            let [passing, failing] = samples(test.term, terms);
            for at in 0..passing.len().max(failing.len()) {
                for kind in [&passing, &failing] {
                    let word = at.checked_rem(kind.len()).and_then(|at| kind.get(at));
                    words.entry(memory.pointer).or_default().extend(word);
                }
            }
        }
        for memory in inputs
            .memories
            .iter()
            .filter(|memory| memory.test.is_none())
        {
            if let Some(words) = words.get_mut(&memory.pointer)
                && !words.is_empty()
            {
                words.extend([0, 1]);
            }
        }
        let passing = inputs.memories.iter().map(|memory| {
            let own = words.get(&memory.pointer).into_iter().flatten();
            let word = |word: &u64| {
                let passes = match &memory.test {
                    Some(test) => passes(test.term, *word, terms)?,
                    None => *word != 0,
                };
                Some((*word, passes))
            };
            own.filter_map(word).collect()
        });
        Self {
            passing: passing.collect(),
            words,
        }
    }

    /// The words that lie at a pointer.
    pub fn words(&self, pointer: u32) -> Vec<u64> {
        self.words.get(&pointer).cloned().unwrap_or_default()
    }
}

/// The memory of a launch of which entries are.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    pub terms: &'a Terms,
    pub memories: &'a [Memory],
    pub functions: &'a [Function],
    pub tests: &'a Tests,
    pub launch: &'a Launch,
}

impl Entries<'_> {
    /// 0 or 1, for an entry at numbers.
    pub fn value(&self, entry: &Entry) -> Option<i128> {
        let at = usize::try_from(entry.memory).ok()?;
        let memory = self.memories.get(at)?;
        if let Some(test) = memory.test.as_ref().filter(|_| memory.is_function()) {
            let truth = self.of_function(test.term, &entry.indices)?;
            return Some(i128::from(truth.bits & 1 == 1));
        }
        let place = u64::try_from(entry.place()?).ok()?;
        let given = self.launch.given(memory.pointer, 8)?;
        let begin = u64::from_le_bytes(given.try_into().ok()?);
        let bytes = u64::from(memory.bytes);
        let first = begin.checked_add(place.checked_mul(bytes)?)?;
        let mut word = 0_u64;
        let mut is_zero = true;
        for at in 0..bytes {
            let byte = self.launch.unwritten_byte(first.checked_add(at)?)?;
            is_zero &= byte == 0;
            word |= u64::from(byte)
                .checked_shl(8 * u32::try_from(at).ok()?)
                .unwrap_or(0);
        }
        match memory.test {
            Some(_) => self
                .tests
                .passing
                .get(at)?
                .get(&word)
                .map(|passes| i128::from(*passes)),
            None => Some(i128::from(!is_zero)),
        }
    }

    /// The value of a function of rounds, unless the text says nothing of a launch with it.
    pub fn applied(&self, one: &Applied) -> Option<i128> {
        let function = self.functions.get(one.function as usize)?;
        let value = self.of_function(function.term, &one.coordinates)?.signed();
        (0..=function.most).contains(&value).then_some(value)
    }

    /// What a function is at numbers.
    fn of_function(&self, term: TermId, coordinates: &[Number]) -> Option<Word> {
        let word = |number: i128, width| Word::new(number.cast_unsigned(), width);
        let values = Values {
            terms: self.terms,
            atom: &|atom, width| {
                Some(match atom {
                    Atom::Coordinate(at) => {
                        word(coordinates.get(at as usize)?.as_constant()?, width)
                    }
                    Atom::Parameter { offset } => {
                        word(at_launch::parameter(self.launch, offset).into(), width)
                    }
                    Atom::Special(which) => {
                        word(at_launch::special(self.launch, which)?.into(), width)
                    }
                    _ => return None,
                })
            },
            byte: &|address| self.launch.unwritten_byte(address),
        };
        values.of(term)
    }
}
