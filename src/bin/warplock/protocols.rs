//! The protocols of one file: the file itself, or those recovered from its kernels.

use std::time::Instant;

use warplock::deadline;
use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::text::MAX_SOURCE_BYTES;

use crate::failure::Failure;
use crate::inputs::Input;
use crate::kernel_options::Kernels;
use crate::sources;

/// Where a protocol was recovered from.
pub struct Recovered {
    /// The kernel's text.
    pub source: String,
    /// For each line of the protocol, the line of that text from which it was recovered.
    pub lines: Vec<Option<usize>>,
    /// Whether every counterexample of the protocol is one of a launch of the kernel.
    pub exact: bool,
}

/// A protocol.
pub struct Loaded {
    /// The protocol.
    pub protocol: Protocol,
    /// Where it was recovered from, if it was.
    pub recovered: Option<Recovered>,
    /// What is known of the launch from outside the file, as sentences.
    pub launched: Vec<String>,
}

/// How protocols are read.
pub struct Reading<'a> {
    /// Which entries, and how they are launched.
    pub kernels: &'a Kernels,
    /// Whether reads and writes are recovered, too.
    pub data: bool,
    /// The emphasis of diagnostics.
    pub style: Style,
    /// When the recovery from kernels has to end.
    pub end: Instant,
    /// Is told what is being done at present.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// The use of a protocol. Its first argument is the name of the entry; the second is the protocol, or why it was not
/// recovered.
pub type With<'a> = &'a mut dyn FnMut(&str, Result<Loaded, String>) -> Result<(), Failure>;

/// Reads a file and calls `with` for each protocol in it that is wanted. A protocol that stands in the file itself
/// has an empty entry name.
pub fn each(
    input: &Input,
    reading: &Reading<'_>,
    wanted: &dyn Fn(&str, &[String]) -> bool,
    with: With<'_>,
) -> Result<(), Failure> {
    if !input.is_kernel() {
        let bytes = input.read(MAX_SOURCE_BYTES)?;
        let protocol = sources::load_bytes(&bytes, &input.name, reading.style)?;
        let loaded = Loaded {
            protocol,
            recovered: None,
            launched: Vec::new(),
        };
        return with("", Ok(loaded));
    }
    let kernels = reading.kernels;
    kernels.each(input, reading.style, reading.tell, &mut |entry| {
        if !wanted(entry.name(), entry.asked) {
            return Ok(());
        }
        let lifted = deadline::until(reading.end, || match reading.data {
            true => Ok(entry.with_data()?.map_err(|refused| refused.reason)),
            false => entry.protocol(),
        })?;
        let lifted = match lifted {
            Ok(lifted) => lifted,
            Err(reason) => return with(entry.name(), Err(reason)),
        };
        let bytes = lifted.text.as_bytes();
        let protocol = sources::load_bytes(bytes, &input.name, reading.style)?;
        let loaded = Loaded {
            protocol,
            recovered: Some(Recovered {
                source: entry.source().to_owned(),
                lines: lifted.lines,
                exact: lifted.exact,
            }),
            launched: entry.launched.clone(),
        };
        with(entry.name(), Ok(loaded))
    })
}

/// The name of a protocol: its file, and its entry if there is one.
pub fn name_of(file: &str, entry: &str) -> String {
    match entry {
        "" => file.to_owned(),
        entry => format!("{file}:{entry}"),
    }
}
