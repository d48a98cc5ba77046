//! Finds repetitions in a sequence.

use rustc_hash::FxHashMap;

/// A part of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    Item(u32),
    /// A list of parts, by their numbers, that is repeated this many times.
    Repeat(u64, Vec<u32>),
}

/// A sequence in which repetitions are folded, at all levels of nesting.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    parts: Vec<Part>,
    numbers: FxHashMap<Part, u32>,
    /// The outermost parts.
    pub sequence: Vec<u32>,
}

/// The longest body of a loop that is recognised, in parts.
const MAX_BODY: usize = 192;

/// Folds adjacent repetitions, inner ones first.
pub fn fold(items: impl IntoIterator<Item = u32>) -> Folded {
    let mut folded = Folded::default();
    for item in items {
        let number = folded.number(Part::Item(item));
        folded.sequence.push(number);
        while folded.shorten() {}
    }
    folded
}

impl Folded {
    pub fn part(&self, number: u32) -> Option<&Part> {
        self.parts.get(number as usize)
    }

    fn number(&mut self, part: Part) -> u32 {
        if let Some(known) = self.numbers.get(&part) {
            return *known;
        }
        let number = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.parts.push(part.clone());
        self.numbers.insert(part, number);
        number
    }

    /// Folds the end of the sequence, if it repeats what comes directly before it.
    fn shorten(&mut self) -> bool {
        let end = self.sequence.len();
        let last = self.sequence.last().copied();
        for body in 1..=MAX_BODY.min(end.saturating_sub(1)) {
            let start = end - body;
            let before = self.sequence[start - 1];
            if let Some(Part::Repeat(count, known)) = self.part(before)
                && known.len() == body
                && known.as_slice() == &self.sequence[start..]
            {
                let more = Part::Repeat(count.saturating_add(1), known.clone());
                let number = self.number(more);
                self.sequence.truncate(start - 1);
                self.sequence.push(number);
                return true;
            }
            if start >= body
                && last == self.sequence.get(start - 1).copied()
                && self.sequence[start - body..start] == self.sequence[start..]
            {
                let twice = Part::Repeat(2, self.sequence[start..].to_vec());
                let number = self.number(twice);
                self.sequence.truncate(start - body);
                self.sequence.push(number);
                return true;
            }
        }
        false
    }
}
