//! Measures work, as the number of entries of linear programs that were changed. Unlike time, it is the same on every
//! machine.

use std::cell::Cell;

/// The work that has been done, and the limit.
#[derive(Debug)]
pub struct Work {
    done: Cell<u64>,
    most: u64,
}

impl Default for Work {
    /// Without a limit.
    fn default() -> Work {
        Work::new(u64::MAX)
    }
}

impl Work {
    /// No work done yet, and this limit.
    pub fn new(most: u64) -> Work {
        Work {
            done: Cell::new(0),
            most,
        }
    }

    /// Counts so many entries.
    pub fn add(&self, entries: usize) {
        let entries = u64::try_from(entries).unwrap_or(u64::MAX);
        self.done.set(self.done.get().saturating_add(entries));
    }

    /// Whether no more may be done.
    pub fn is_over(&self) -> bool {
        self.done.get() >= self.most
    }
}
