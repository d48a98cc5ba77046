//! Decodes the 64 bits of an mbarrier.
//!
//! The PTX ISA calls the format opaque. But the machine code of ptxas shows what `mbarrier.init` writes and what
//! `mbarrier.pending_count` reads; it is the same for sm_90 and sm_100. Bits 1 to 20 hold `2^20 - expected`, and bits
//! 43 to 62 hold `2^20 - pending`. So the pending count is stored as a negative number, and the last arrival carries
//! into bit 63, which is the phase. The bits in between hold the byte count. Their exact layout is not visible. So
//! this code only decides whether the byte count is zero.

use serde::Serialize;

/// The decoded value of an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The phase bit.
    pub phase: bool,
    /// Arrivals missing in this phase.
    pub pending: i64,
    /// Arrivals that the next phase expects.
    pub expected: i64,
    /// Whether expected and delivered bytes differ.
    pub bytes: bool,
}

const COUNT: u64 = (1 << 20) - 1;
const EXPECTED: u32 = 1;
const PENDING: u32 = 43;
const BYTES: u32 = 21;

impl Word {
    /// Decodes a word; `None` if it cannot be an initialised mbarrier.
    pub fn decode(bits: u64) -> Option<Word> {
        let negated = |shift: u32| {
            let field = (bits >> shift) & COUNT;
            (COUNT + 1 - field) as i64
        };
        let word = Word {
            phase: bits >> 63 == 1,
            // A field of 0 means the count 0: all have arrived, and only bytes are missing.
            pending: negated(PENDING) % (1 << 20),
            expected: negated(EXPECTED) % (1 << 20),
            bytes: (bits >> BYTES) & ((1 << (PENDING - BYTES)) - 1) != 0,
        };
        let sound = bits & 1 == 0 && word.expected >= 1 && word.pending <= word.expected;
        sound.then_some(word)
    }

    /// In words: `phase 1, 3 of 96 arrivals missing`.
    pub fn words(&self) -> String {
        let bytes = if self.bytes { ", bytes missing" } else { "" };
        format!(
            "phase {}, {} of {} arrivals missing{bytes}",
            u8::from(self.phase),
            self.pending,
            self.expected
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The word as the machine code initialises it.
    fn fresh(expected: u64) -> u64 {
        let negated = (1 << 20) - expected;
        (negated << 43) | (negated << 1)
    }

    #[test]
    fn a_fresh_barrier_misses_all() {
        assert_eq!(fresh(32), 0x7fff_0000_001f_ffc0);
        let word = Word::decode(fresh(32)).expect("an mbarrier");
        assert_eq!(word.words(), "phase 0, 32 of 32 arrivals missing");
    }

    #[test]
    fn an_arrival_counts_and_the_last_one_carries_into_the_phase() {
        let two = fresh(2) + (1 << 43);
        let word = Word::decode(two).expect("an mbarrier");
        assert_eq!(word.words(), "phase 0, 1 of 2 arrivals missing");
        let full = two + (1 << 43);
        let word = Word::decode(full).expect("an mbarrier");
        assert!(word.phase && word.pending == 0 && !word.bytes);
        let word = Word::decode(full | (1 << 63) | (5 << 30)).expect("an mbarrier");
        assert_eq!(
            word.words(),
            "phase 1, 0 of 2 arrivals missing, bytes missing"
        );
    }

    #[test]
    fn what_is_no_barrier_is_refused() {
        for bits in [0, u64::MAX, 0x7ffe_439b_ac10, 1 << 43] {
            assert_eq!(Word::decode(bits), None, "{bits:#x}");
        }
    }
}
