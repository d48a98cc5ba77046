//! What every command needs beside its arguments.

use crate::cli::Output;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// The terminal and how much to say on it.
pub struct Session {
    /// Where results and diagnostics go.
    pub terminal: Terminal,
    /// Where it is said what is being done.
    pub progress: Progress,
    /// Whether to say only the first line of each result.
    pub quiet: bool,
}

impl Session {
    /// A session with these options.
    pub fn new(output: Output) -> Session {
        let progress = Progress::new(output.quiet);
        Session {
            terminal: Terminal::new(output.color, output.verbose, progress.bars()),
            progress,
            quiet: output.quiet,
        }
    }

    /// Says why something failed.
    pub fn failed(&self, failure: &Failure) {
        let style = self.terminal.err_style();
        self.terminal.err(&failure.rendered(style));
    }
}
