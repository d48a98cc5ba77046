//! Whether words of memory are 0 at a launch, as entries say them: by their place, whatever address the kernel computes.

use crate::interpret::Launch;
use crate::recover::entry::Entry;
use crate::recover::entry::Memory;

/// The memory of a launch of which entries are.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    pub memories: &'a [Memory],
    pub launch: &'a Launch,
}

impl Entries<'_> {
    /// 0 or 1, for an entry at numbers.
    pub fn value(&self, entry: &Entry) -> Option<i128> {
        let memory = self.memories.get(usize::try_from(entry.memory).ok()?)?;
        let place = u64::try_from(entry.place()?).ok()?;
        let given = self.launch.given(memory.pointer, 8)?;
        let begin = u64::from_le_bytes(given.try_into().ok()?);
        let bytes = u64::from(memory.bytes);
        let first = begin.checked_add(place.checked_mul(bytes)?)?;
        for at in 0..bytes {
            if self.launch.unwritten_byte(first.checked_add(at)?)? != 0 {
                return Some(1);
            }
        }
        Some(0)
    }
}
