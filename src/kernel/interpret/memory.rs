//! Memory, byte by byte.

use rustc_hash::FxHashMap;

use super::taint::Origins;
use super::taint::Sets;

const PAGE: u64 = 256;

/// The most pages of all memories of a run together.
pub const MAX_PAGES: usize = 400_000;

/// The bytes that were written, in pages. Bytes that were never written have no value here.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pages: FxHashMap<u64, Page>,
    /// The origins of writes whose address is unknown, or of which it is unknown whether they happen. If there are
    /// any, every byte may have been overwritten.
    pub unknown_writes: Origins,
}

#[derive(Debug, Clone)]
struct Page {
    bytes: Box<[u8; PAGE as usize]>,
    written: [u64; 4],
    /// Bytes that were written with unknown values.
    tainted: [u64; 4],
    /// The origins of these values, all together.
    origins: Origins,
}

/// What a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Byte {
    pub value: u8,
    pub origins: Origins,
}

impl Memory {
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Bytes from `address` on; `None` for those that were never written.
    pub fn read(&self, address: u64, out: &mut [Option<Byte>]) {
        let mut at = 0;
        while at < out.len() {
            let place = address.wrapping_add(at as u64);
            let (page, start) = (place / PAGE, (place % PAGE) as usize);
            let count = (PAGE as usize - start).min(out.len() - at);
            let part = &mut out[at..at + count];
            if let Some(page) = self.pages.get(&page) {
                for (offset, byte) in part.iter_mut().enumerate() {
                    *byte = page.byte(start + offset);
                }
            } else {
                part.fill(None);
            }
            at += count;
        }
    }

    pub fn write(&mut self, address: u64, bytes: &[u8], origins: Origins, sets: &mut Sets) {
        for (at, byte) in bytes.iter().enumerate() {
            let place = address.wrapping_add(at as u64);
            let page = self.pages.entry(place / PAGE).or_insert_with(Page::new);
            page.set((place % PAGE) as usize, *byte, origins, sets);
        }
    }

    /// Forgets bytes, as if they had never been written.
    pub fn forget(&mut self, address: u64, count: u64) {
        for at in 0..count {
            let place = address.wrapping_add(at);
            if let Some(page) = self.pages.get_mut(&(place / PAGE)) {
                let start = (place % PAGE) as usize;
                page.written[start / 64] &= !(1 << (start % 64));
            }
        }
    }
}

impl Page {
    fn new() -> Self {
        Self {
            bytes: Box::new([0; PAGE as usize]),
            written: [0; 4],
            tainted: [0; 4],
            origins: Origins::NONE,
        }
    }

    fn byte(&self, at: usize) -> Option<Byte> {
        let (word, bit) = (at / 64, at % 64);
        if self.written[word] >> bit & 1 == 0 {
            return None;
        }
        let tainted = self.tainted[word] >> bit & 1 == 1;
        Some(Byte {
            value: self.bytes[at],
            origins: if tainted { self.origins } else { Origins::NONE },
        })
    }

    fn set(&mut self, at: usize, value: u8, origins: Origins, sets: &mut Sets) {
        let (word, bit) = (at / 64, at % 64);
        self.bytes[at] = value;
        self.written[word] |= 1 << bit;
        if origins.is_none() {
            self.tainted[word] &= !(1 << bit);
        } else {
            self.tainted[word] |= 1 << bit;
            self.origins = sets.union(self.origins, origins);
        }
    }
}
