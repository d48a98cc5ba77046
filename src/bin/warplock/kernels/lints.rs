//! What the lint rules find in a kernel: in its instructions, in what its warps do along them, and in its protocol.

use std::time::Duration;

use warplock::deadline;
use warplock::lint;
use warplock::ptx;
use warplock::ptx::Lifted;
use warplock::report::place::named;
use warplock::text;
use warplock_kernel::ir::Kernel;

use crate::failure::Failure;

use super::Entry;
use super::Form;
use super::Refused;

/// A place of a kernel that is worth looking at.
pub struct Lint {
    /// The name of the rule, as `arrival-count`.
    pub rule: &'static str,
    /// Where it is: a source line, a line of the kernel's text, or nothing if the whole kernel is meant.
    pub place: Place,
    /// What is there, as a lowercase fragment.
    pub message: String,
    /// What to do about it, as a lowercase fragment.
    pub hint: &'static str,
}

/// Where a finding of a lint is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line of the kernel's text, from 1.
    line: Option<usize>,
    /// The source line, as `ring.cu:25`, where the compiler says it.
    source: Option<String>,
}

impl Place {
    fn new(line: usize, source: Option<String>) -> Place {
        Place {
            line: (line > 0).then_some(line),
            source: source.filter(|source| !source.starts_with("line ")),
        }
    }

    /// The line for the author, as `ring.cu:25`; that of the kernel's text where it is not known.
    pub fn short(&self) -> Option<String> {
        let line = || self.line.map(|line| format!("line {line}"));
        self.source.clone().or_else(line)
    }

    /// Both lines, as `ring.cu:25 (line 310)`.
    pub fn long(&self) -> Option<String> {
        match (&self.source, self.line) {
            (Some(source), Some(line)) => Some(format!("{source} (line {line})")),
            _ => self.short(),
        }
    }
}

/// What the lint rules find in a kernel.
pub struct Lints {
    /// In the order of its text.
    pub found: Vec<Lint>,
    /// Why the rules about what all warps do together could not be applied, if so.
    pub unknown: Option<String>,
}

impl Entry<'_> {
    /// What is worth looking at in it.
    pub fn lints(&self) -> Result<Lints, Failure> {
        let together = match self.lints_along_instructions()? {
            Some(Ok(found)) => Ok(found),
            Some(Err(refused)) if refused.misuse => Err(refused.reason),
            Some(Err(refused)) => match self.graph_protocol() {
                Ok(Some((lifted, _))) => Ok(of_protocol(&lifted)),
                Ok(None) => Err(refused.reason),
                Err(undefined) => Err(undefined),
            },
            None => self.protocol()?.map(|lifted| of_protocol(&lifted)),
        };
        let (mut found, unknown) = match together {
            Ok(found) => (found, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        self.add_lints_of_instructions(&mut found);
        Ok(Lints { found, unknown })
    }

    /// What is worth looking at in what its warps do along its instructions, unless it is recovered from its graph only.
    fn lints_along_instructions(&self) -> Result<Option<Result<Vec<Lint>, Refused>>, Failure> {
        let Form::Path {
            module,
            function,
            options,
            refused,
            ..
        } = &self.form
        else {
            return Ok(None);
        };
        match ptx::lint(module, function, options) {
            Ok(found) => Ok(Some(Ok(found.into_iter().map(along).collect()))),
            Err(ptx::Failure::Obstacle(obstacle)) => Ok(Some(Err(Refused {
                misuse: obstacle.misuse,
                reason: obstacle.words(module),
            }))),
            Err(ptx::Failure::Input(finding)) => Err(refused(&finding)),
        }
    }

    /// Adds what is worth looking at in its single instructions, in the order of its text.
    fn add_lints_of_instructions(&self, all: &mut Vec<Lint>) {
        let kernel: Option<&Kernel> = match &self.form {
            Form::Graph { kernel, .. } => Some(kernel),
            Form::Path {
                function, graphs, ..
            } => graphs.kernel(function.name).ok(),
        };
        let found = kernel.map(warplock_kernel::lint::lints).unwrap_or_default();
        let one = |found: warplock_kernel::lint::Lint| Lint {
            rule: found.rule,
            place: Place::new(
                usize::try_from(found.location.line).unwrap_or(0),
                found.location.shown(),
            ),
            message: found.message.to_owned(),
            hint: found.hint,
        };
        all.extend(found.into_iter().map(one));
        all.sort_by(|a, b| a.place.cmp(&b.place));
    }
}

fn along(found: ptx::Lint) -> Lint {
    Lint {
        rule: found.rule,
        place: Place::new(found.line, Some(found.source)),
        message: found.message,
        hint: found.hint,
    }
}

/// What is worth looking at in a protocol that was recovered, at the lines of the kernel.
fn of_protocol(lifted: &Lifted) -> Vec<Lint> {
    let Ok(protocol) = text::load(lifted.text.as_bytes()) else {
        return Vec::new();
    };
    let place = |line: usize| {
        let at = line.checked_sub(1);
        let behind = at.and_then(|at| lifted.lines.get(at).copied().flatten());
        let text = at.and_then(|at| lifted.text.lines().nth(at));
        Place {
            line: behind,
            source: text.and_then(named),
        }
    };
    let found = lint::lint(&protocol);
    let one = |found: lint::Lint| Lint {
        rule: found.rule,
        place: place(found.line),
        message: found.message,
        hint: found.hint,
    };
    found.into_iter().map(one).collect()
}

/// How long the lints may take. A verdict does not wait for them longer.
const TIME: Duration = Duration::from_secs(5);

/// What the lints find in a kernel in no more than this time, a sentence each.
pub fn notes(entry: &Entry<'_>, time: Duration) -> Vec<String> {
    // Where they cannot be run, the verdict says why already.
    let found = deadline::until(deadline::after(TIME.min(time)), || entry.noted_lints());
    let sentence = |lint: &Lint| {
        let (id, message) = (lint.rule, &lint.message);
        let at = lint.place.short();
        let at = at.map_or(String::new(), |place| format!(" at {place}"));
        format!("lint{at}: {message} (`warplock explain {id}`)")
    };
    lint::first_few(found.iter().map(sentence).collect())
}

impl Entry<'_> {
    /// The lints for which no protocol is recovered again.
    fn noted_lints(&self) -> Vec<Lint> {
        let along = self.lints_along_instructions().ok().flatten();
        let mut found = along.and_then(Result::ok).unwrap_or_default();
        self.add_lints_of_instructions(&mut found);
        found
    }
}
