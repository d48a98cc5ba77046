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
    /// For each line of the protocol the line of that text.
    pub lines: Vec<Option<usize>>,
    /// Whether every counterexample is one of a launch.
    pub exact: bool,
}

/// A protocol.
pub struct Loaded {
    /// It.
    pub protocol: Protocol,
    /// Where it was recovered from, if it was.
    pub recovered: Option<Recovered>,
    /// What is taken from beside the file about the launch, as sentences.
    pub launched: Vec<String>,
}

/// How protocols are read.
pub struct Reading<'a> {
    /// Which entries, and how they are launched.
    pub kernels: &'a Kernels,
    /// Whether what is read and written is followed, too.
    pub data: bool,
    /// The emphasis of diagnostics.
    pub style: Style,
    /// When following kernels has to end.
    pub end: Instant,
    /// Is told what is being done.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// What is done with a protocol, by the name of its entry.
pub type With<'a> = &'a mut dyn FnMut(&str, Result<Loaded, String>) -> Result<(), Failure>;

/// Reads a file and does something with each of its protocols that is wanted, by the name of its entry,
/// which is empty for a protocol that stands in the file; or with why it could not be recovered.
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

/// What a protocol is called: its file, and its entry if there is one.
pub fn name_of(file: &str, entry: &str) -> String {
    match entry {
        "" => file.to_owned(),
        entry => format!("{file}:{entry}"),
    }
}
