//! Large memory filled with words of which some are 0 and others are not. The words are computed and not stored.

use std::fmt;

/// The most bytes of memory that a mask behind one pointer has.
pub const MOST_BYTES: u64 = 1 << 35;

/// Which words are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Filling {
    All,
    None,
    /// About this many out of 8, pseudorandomly chosen.
    Some {
        of_8: u8,
        seed: u64,
    },
}

/// A region of memory that is filled in this way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mask {
    pub begin: u64,
    /// How many bytes it has.
    pub size: u64,
    /// The bytes of a word.
    pub bytes: u32,
    pub zeros: Filling,
    /// The values of the words, if more than zero or nonzero matters. With [`Filling::All`] every word has the first
    /// value, with [`Filling::None`] the second one, and otherwise a pseudorandom one of all values.
    pub words: Vec<u64>,
}

impl Mask {
    /// The byte at an address; `None` if the address is not in this memory. A word that is not 0 has one nonzero
    /// byte, at any position.
    pub fn byte(&self, address: u64) -> Option<u8> {
        let at = address
            .checked_sub(self.begin)
            .filter(|at| *at < self.size)?;
        let bytes = u64::from(self.bytes.max(1));
        let (word, byte) = (at / bytes, at % bytes);
        let chance = mixed(word);
        if !self.words.is_empty() {
            let at = match self.zeros {
                Filling::All => 0,
                Filling::None => 1,
                Filling::Some { seed, .. } => mixed(word ^ mixed(seed)),
            };
            let at = usize::try_from(at % self.words.len() as u64).unwrap_or(0);
            let bits = self.words.get(at).copied().unwrap_or(0);
            return bits.to_le_bytes().get(usize::try_from(byte).ok()?).copied();
        }
        let is_zero = match self.zeros {
            Filling::All => true,
            Filling::None => false,
            Filling::Some { of_8, seed } => mixed(word ^ mixed(seed)) % 8 < u64::from(of_8),
        };
        let own = chance % bytes == byte;
        let value = u8::try_from(chance >> 32 & 0xff).unwrap_or(0) | 1;
        Some(if own && !is_zero { value } else { 0 })
    }
}

/// A pseudorandom number.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl fmt::Display for Mask {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { begin, bytes, .. } = self;
        if !self.words.is_empty() {
            let (filling, words) = (self.zeros, &self.words);
            return write!(
                formatter,
                "words of {bytes} bytes at {begin:#x} from {words:?} ({filling:?})"
            );
        }
        write!(formatter, "words of {bytes} bytes at {begin:#x} of which ")?;
        match self.zeros {
            Filling::All => write!(formatter, "all are 0"),
            Filling::None => write!(formatter, "none is 0"),
            Filling::Some { of_8, seed } => {
                write!(formatter, "{of_8} of 8 are 0 by chance ({seed})")
            }
        }
    }
}
