//! The context of every command besides its arguments.

use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::terminal::Output;
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

    /// Does one piece of work on a file, says what came of it and exits as it says.
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

    /// Says why something failed.
    pub fn failed(&self, failure: &Failure) {
        let style = self.terminal.err_style();
        self.terminal.err(&failure.rendered(style));
    }
}
