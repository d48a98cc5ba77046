//! The only place that writes to the terminal.
//!
//! If the reader of the output goes away (`| head`), that is no error: the rest of the output is dropped, and the
//! exit code still says what was found. Any other failure to write is reported once, and the program then ends as it
//! does when a file cannot be written.

use std::io;
use std::io::IsTerminal;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use clap::Args;
use clap::ValueEnum;
use indicatif::MultiProgress;
use warplock::report::style::Style;

/// Options of every command.
#[derive(Debug, Clone, Copy, Args)]
pub struct Output {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: Color,
    /// Print only the first line of each result, and no progress
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
    /// Print everything: every step, element, blocked member and assumption
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "quiet",
        help_heading = "Output"
    )]
    pub verbose: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output and standard error.
pub struct Terminal {
    out: Style,
    err: Style,
    progress: MultiProgress,
    gone: AtomicBool,
    failed: AtomicBool,
}

impl Terminal {
    /// Decides whether to use colours. The spinners of `progress` are hidden while something is written.
    pub fn new(color: Color, verbose: bool, progress: MultiProgress) -> Terminal {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let style = |is_terminal: bool| Style {
            color: match color {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => is_terminal && !plain,
            },
            verbose,
            width: is_terminal
                .then(terminal_size::terminal_size)
                .flatten()
                .map(|(width, _)| usize::from(width.0)),
            shorter: 0,
        };
        Terminal {
            out: style(io::stdout().is_terminal()),
            err: style(io::stderr().is_terminal()),
            progress,
            gone: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Whether results go to a terminal.
    pub fn out_is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// The emphasis for results.
    pub fn out_style(&self) -> Style {
        self.out
    }

    /// The emphasis for diagnostics.
    pub fn err_style(&self) -> Style {
        self.err
    }

    /// Writes a result.
    pub fn out(&self, text: &str) {
        self.out_bytes(text.as_bytes());
    }

    /// Writes a result that need not be text.
    pub fn out_bytes(&self, bytes: &[u8]) {
        if self.gone.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed) {
            return;
        }
        let written = self.progress.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(bytes).and_then(|()| out.flush())
        });
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                self.failed.store(true, Ordering::Relaxed);
                self.err(&format!("error: cannot write the results: {error}\n"));
            }
        }
    }

    /// Writes a diagnostic. An error here cannot be reported.
    pub fn err(&self, text: &str) {
        self.progress.suspend(|| {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        });
    }

    /// Whether results were lost for another reason than that the reader went away.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}
