//! Bit sets of the numbers of writes.

/// A set of small numbers below a bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// The empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Bits {
        Bits {
            words: vec![0; bound.div_ceil(64)],
        }
    }

    pub(super) fn add(&mut self, number: usize) {
        if self.words.len() <= number / 64 {
            self.words.resize(number / 64 + 1, 0);
        }
        self.words[number / 64] |= 1 << (number % 64);
    }

    pub(super) fn has(&self, number: usize) -> bool {
        let word = self.words.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(super) fn add_all(&mut self, other: &Bits) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// The numbers in the other set that are not in this one.
    pub(super) fn missing(&self, other: &Bits) -> Vec<usize> {
        let has = |number: &usize| other.has(*number) && !self.has(*number);
        (0..other.words.len() * 64).filter(has).collect()
    }

    /// Appends the set in a form that does not depend on the bound: without empty words at the end.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let used = self.words.iter().rposition(|word| *word != 0);
        let used = used.map_or(0, |last| last + 1);
        out.extend((used as u32).to_le_bytes());
        for word in &self.words[..used] {
            out.extend(word.to_le_bytes());
        }
    }
}
