//! Progress messages on stderr.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;
use std::time::Instant;

use indicatif::MultiProgress;
use indicatif::ProgressBar;
use indicatif::ProgressDrawTarget;
use indicatif::ProgressStyle;
use warplock::report::text::visible;

use crate::failure::Failure;
use crate::interrupt;

/// What is being done to which file. On a terminal, stderr shows it as spinners. Otherwise it is only remembered, to
/// be reported if a signal comes.
#[derive(Clone)]
pub struct Progress {
    bars: MultiProgress,
    stages: Arc<Mutex<BTreeMap<usize, Stage>>>,
}

struct Stage {
    name: String,
    what: String,
    since: Instant,
    bar: ProgressBar,
}

impl Progress {
    /// Shows nothing when `quiet`, or when stderr is no terminal.
    pub fn new(quiet: bool) -> Progress {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        Progress {
            bars: MultiProgress::with_draw_target(target),
            stages: Arc::default(),
        }
    }

    /// The spinners. They are to be hidden while something else is written.
    pub fn bars(&self) -> MultiProgress {
        self.bars.clone()
    }

    /// Work on a file begins.
    pub fn begin(&self, number: usize, name: &str) {
        let bar = self.bars.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {prefix}: {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(visible(name));
        bar.enable_steady_tick(Duration::from_millis(120));
        let stage = Stage {
            name: visible(name),
            what: "reading".to_owned(),
            since: Instant::now(),
            bar,
        };
        if let Ok(mut stages) = self.stages.lock() {
            stages.insert(number, stage);
        }
    }

    /// Says which stage the work on a file has reached.
    pub fn tell(&self, number: usize, what: &str) {
        if let Ok(mut stages) = self.stages.lock()
            && let Some(stage) = stages.get_mut(&number)
        {
            stage.what = visible(what);
            stage.bar.set_message(stage.what.clone());
        }
    }

    /// The work on a file has ended. If a signal ended it, its stage is kept to be reported.
    pub fn end(&self, number: usize) {
        if interrupt::requested() {
            return;
        }
        if let Ok(mut stages) = self.stages.lock()
            && let Some(stage) = stages.remove(&number)
        {
            stage.bar.finish_and_clear();
        }
    }

    /// The work on one file has ended. If a signal ended it, the failure says what was being done.
    pub fn close<T>(&self, number: usize, result: Result<T, Failure>) -> Result<T, Failure> {
        if let Err(Failure::Interrupted(message)) = result {
            let stages = self.interrupted().join("\n");
            return Err(Failure::Interrupted(format!("{message}\n{stages}")));
        }
        self.end(number);
        result
    }

    /// What was being done, one line per file.
    pub fn interrupted(&self) -> Vec<String> {
        let Ok(stages) = self.stages.lock() else {
            return Vec::new();
        };
        let lines = stages.values().map(|stage| {
            stage.bar.finish_and_clear();
            let seconds = stage.since.elapsed().as_secs_f64();
            format!("{}: {} (for {seconds:.1} s)", stage.name, stage.what)
        });
        lines.collect()
    }
}
