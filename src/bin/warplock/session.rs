//! The context that every command has in addition to its arguments.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal::Output;
use crate::terminal::Terminal;

/// Where a command prints, and how much.
pub struct Session {
    /// Where results and diagnostics go.
    pub terminal: Terminal,
    /// Shows what is being done at present.
    pub progress: Progress,
    /// Whether to print only the first line of each result.
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

    /// Does one piece of work on a file, prints the result, and returns the exit that the work gives.
    pub fn answer(
        &self,
        name: &str,
        work: impl FnOnce(&Progress) -> Result<(String, Exit), Failure> + Send + 'static,
    ) -> Result<Exit, Failure> {
        let progress = self.progress.clone();
        progress.begin(0, name);
        let result = interrupt::run(move || work(&progress));
        let (text, exit) = self.progress.close(0, result)?;
        self.terminal.out(&text);
        Ok(exit)
    }

    /// Prints why something failed.
    pub fn failed(&self, failure: &Failure) {
        let style = self.terminal.err_style();
        self.terminal.err(&failure.rendered(style));
    }
}
