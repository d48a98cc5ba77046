//! What a debugger showed of a kernel that hangs, as an [`Observation`].
//!
//! Users often have only fragments: a backtrace of one thread, a table of all warps that ends after one page, or a
//! word of shared memory. [`read()`] accepts every fragment that it recognizes, and counts the other lines. No
//! fragment is mandatory. [`bind`] finds the statements of a protocol that the fragments are about. It also decides
//! whether a state of the reference semantics matches what was seen.

pub mod bind;
pub mod read;
pub mod word;

use std::fmt;

use serde::Serialize;

pub use read::read;
pub use word::Word;

/// Three coordinates of a block or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Dim(pub [i64; 3]);

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x},{y},{z})")
    }
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, as written in the observation. Absent in a table that lists lines only.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:{}", name_of(file), self.line),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// The last component of a path. The other components differ between builds and machines.
pub fn name_of(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// One or several threads, and where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The block, or the first of several.
    pub block: Option<Dim>,
    /// The thread, or the first of several.
    pub thread: Option<Dim>,
    /// The warp within the block, if a table has it.
    pub warp: Option<i64>,
    /// The number of threads, if it is known.
    pub count: Option<u64>,
    /// The places of their frames, the innermost first.
    pub places: Vec<Place>,
    /// The program counter.
    pub pc: Option<u64>,
    /// The address of the barrier that they wait on.
    pub address: Option<u64>,
    /// The parity that they wait with: they wait while the phase bit equals it.
    pub parity: Option<bool>,
    /// The line of the input where this entry began, from 1.
    pub line: usize,
}

impl Seen {
    /// The threads in words: `thread (160,0,0) of block (0,0,0)`.
    pub fn who(&self) -> String {
        let thread = match (self.thread, self.warp) {
            (Some(thread), _) => Some(format!("thread {thread}")),
            (None, Some(warp)) => Some(format!("warp {warp}")),
            (None, None) => None,
        };
        let block = self.block.map(|block| format!("block {block}"));
        let who = match (thread, block) {
            (Some(thread), Some(block)) => format!("{thread} of {block}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "a thread".to_owned(),
        };
        match self.count {
            Some(count) if count > 1 => format!("{who} and {} more", count - 1),
            _ => who,
        }
    }

    /// The place in words: `gemm.cu:483, parity 1`. `place` is the frame that matters.
    pub fn at(&self, place: Option<&Place>) -> String {
        let place = place.or(self.places.last());
        let mut parts: Vec<String> = place.iter().map(|place| place.to_string()).collect();
        if parts.is_empty() {
            parts.extend(self.pc.map(|pc| format!("program counter {pc:#x}")));
        }
        parts.extend(self.address.map(|at| format!("barrier {at:#x}")));
        parts.extend(self.parity.map(|p| format!("parity {}", u8::from(p))));
        parts.join(", ")
    }
}

/// A word of memory that holds an mbarrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Labelled {
    /// Its address or its name, as written.
    pub label: String,
    /// Its address, if that is known.
    pub address: Option<u64>,
    /// The decoded value.
    pub word: Word,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// Threads.
    pub seen: Vec<Seen>,
    /// Barriers.
    pub barriers: Vec<Labelled>,
    /// Names of kernels that occur in the input.
    pub kernels: Vec<String>,
    /// Threads per block, if the input shows the launch.
    pub threads: Option<Dim>,
    /// Blocks of the grid, if the input shows the launch.
    pub grid: Option<Dim>,
    /// The number of lines that were not recognized.
    pub unread: usize,
    /// Lines that seem to be about a barrier and were not understood.
    pub skipped: Vec<Skipped>,
}

/// Something about a barrier that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The line of the input, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// Why it is not understood, as a lowercase fragment.
    pub why: &'static str,
}

impl Observation {
    /// Which warp of its block a thread is in, as far as the shape of the block is known.
    pub fn warp_of(&self, seen: &Seen) -> Option<i64> {
        if seen.warp.is_some() {
            return seen.warp;
        }
        let [x, y, z] = seen.thread?.0;
        if y == 0 && z == 0 {
            return Some(x / 32);
        }
        let [width, height, _] = self.threads?.0;
        let row = z.checked_mul(height)?.checked_add(y)?;
        Some(row.checked_mul(width)?.checked_add(x)? / 32)
    }
}
