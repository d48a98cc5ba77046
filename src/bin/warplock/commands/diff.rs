//! `warplock diff`: what changed in the protocol and in the verdicts between two builds.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::deadline;
use warplock::protocol::Property;
use warplock::report::Finding;
use warplock::report::Word;
use warplock::report::change;
use warplock::report::change::Part;
use warplock::report::finding;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::hazard;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs;
use crate::inputs::Input;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::options;
use crate::options::Domain;
use crate::protocols;
use crate::protocols::Loaded;
use crate::protocols::Reading;
use crate::session::Session;
use crate::solver;
use crate::sources;

use super::check;
use super::check::Wanted;

/// Options of `diff`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The build before: a protocol file, PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The build after
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Properties to decide of both, or `all` that apply; `deadlock` if not given
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = check::properties())]
    pub property: Vec<Wanted>,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Time for each property, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Which entries.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// An entry of a build: its protocol, or why it could not be recovered.
struct Entry {
    name: String,
    loaded: Result<Loaded, String>,
}

/// Runs `diff`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let kernels = &arguments.kernels;
    let one = |path| inputs::one(path, kernels.entry.as_deref(), &kernels.compiler, session);
    let (before, after) = (one(&arguments.before)?, one(&arguments.after)?);
    let (style, error_style) = (session.terminal.out_style(), session.terminal.err_style());
    let quiet = session.quiet;
    let name = format!("{} -> {}", before.name, after.name);
    session.answer(&name.clone(), move |progress| {
        let tell = |what: &str| progress.tell(0, what);
        let reading = Reading {
            kernels: &arguments.kernels,
            data: false,
            style: error_style,
            end: deadline::after(arguments.timeout),
            tell: &tell,
        };
        let (old, new) = (entries(&before, &reading)?, entries(&after, &reading)?);
        let mut shown = Shown {
            arguments: &arguments,
            names: [&before.name, &after.name],
            tell: &tell,
            style,
            error_style,
            quiet,
            out: String::new(),
            exit: Exit::Success,
        };
        shown.title(&name);
        for (old, new) in pairs(old, new) {
            shown.pair(old, new)?;
        }
        Ok((style.fitted(&shown.out), shown.exit))
    })
}

fn entries(input: &Input, reading: &Reading<'_>) -> Result<Vec<Entry>, Failure> {
    let mut all = Vec::new();
    protocols::each(input, reading, &|_, _| true, &mut |name, loaded| {
        let name = match &loaded {
            Ok(loaded) if name.is_empty() => loaded.protocol.name.clone(),
            _ => name.to_owned(),
        };
        all.push(Entry { name, loaded });
        Ok(())
    })?;
    Ok(all)
}

/// Pairs the entries of both builds by name. If each build has a single entry, these two are a pair whatever their
/// names.
fn pairs(old: Vec<Entry>, new: Vec<Entry>) -> Vec<(Option<Entry>, Option<Entry>)> {
    let only = old.len() == 1 && new.len() == 1;
    let mut new: Vec<Option<Entry>> = new.into_iter().map(Some).collect();
    let mut all = Vec::new();
    for entry in old {
        let same = |other: &&mut Option<Entry>| {
            other
                .as_ref()
                .is_some_and(|other| only || other.name == entry.name)
        };
        let other = new.iter_mut().find(same).and_then(Option::take);
        all.push((Some(entry), other));
    }
    all.extend(new.into_iter().flatten().map(|entry| (None, Some(entry))));
    all
}

struct Shown<'a> {
    arguments: &'a Arguments,
    names: [&'a str; 2],
    tell: &'a (dyn Fn(&str) + Sync),
    style: Style,
    error_style: Style,
    quiet: bool,
    out: String,
    exit: Exit,
}

impl Shown<'_> {
    fn title(&mut self, name: &str) {
        self.out
            .push_str(&format!("{}\n", self.style.bold(&visible(name))));
    }

    fn pair(&mut self, old: Option<Entry>, new: Option<Entry>) -> Result<(), Failure> {
        let (old, new) = match (old, new) {
            (Some(old), Some(new)) => (old, new),
            (Some(old), None) => {
                self.out
                    .push_str(&format!("{}: is gone\n", visible(&old.name)));
                return Ok(());
            }
            (None, Some(new)) => {
                let after = self.verdicts(1, &new)?;
                let words: Vec<String> = after.iter().map(|f| self.verdict(f)).collect();
                self.out.push_str(&format!(
                    "{}: is new; {}\n",
                    visible(&new.name),
                    words.join(", ")
                ));
                return Ok(());
            }
            (None, None) => return Ok(()),
        };
        let changes = match (&old.loaded, &new.loaded) {
            (Ok(old), Ok(new)) => Some(change::changes(&old.protocol, &new.protocol)),
            _ => None,
        };
        let same = changes.as_ref().is_some_and(Vec::is_empty);
        let after = self.verdicts(1, &new)?;
        let words = if same {
            let words = after.iter().map(|finding| self.verdict(finding));
            format!(
                "the same protocol; {}",
                words.collect::<Vec<_>>().join(", ")
            )
        } else {
            let before = self.verdicts(0, &old)?;
            let what = match &changes {
                Some(parts) if change::is_about_assumptions(parts) => {
                    "the same protocol under other assumptions"
                }
                Some(_) => "the protocol changed",
                None => "the protocols cannot be compared",
            };
            format!("{what}; {}", self.both(&before, &after))
        };
        self.out
            .push_str(&format!("{}: {words}\n", visible(&new.name)));
        if self.quiet {
            return Ok(());
        }
        for part in changes.iter().flatten() {
            self.part(part);
        }
        for finding in after.iter().filter(|f| f.verdict != Word::Proved) {
            self.out.push_str(&format!(
                "  after: {}: {} {}\n",
                finding.property,
                self.style.verdict(finding.verdict),
                visible(&finding.summary)
            ));
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) {
        self.out.push_str(&format!("  {}:\n", visible(&part.name)));
        for (number, change) in part.changes.iter().enumerate() {
            if number > 0 {
                self.out.push_str("    ...\n");
            }
            for line in &change.before {
                self.out.push_str(&format!("    - {}\n", visible(line)));
            }
            for line in &change.after {
                self.out.push_str(&format!("    + {}\n", visible(line)));
            }
        }
    }

    /// The verdicts before and after, property by property.
    fn both(&self, before: &[Finding], after: &[Finding]) -> String {
        let words = after.iter().map(|new| {
            let old = before.iter().find(|old| old.property == new.property);
            match old {
                Some(old) if old.verdict == new.verdict => self.verdict(new),
                Some(old) => format!(
                    "{}: {} -> {}",
                    new.property,
                    self.style.verdict(old.verdict),
                    self.style.verdict(new.verdict)
                ),
                None => format!("{} (new)", self.verdict(new)),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn verdict(&self, finding: &Finding) -> String {
        format!(
            "{}: {}",
            finding.property,
            self.style.verdict(finding.verdict)
        )
    }

    /// The verdicts of one build. Those of the later build also determine the exit code.
    fn verdicts(&mut self, which: usize, entry: &Entry) -> Result<Vec<Finding>, Failure> {
        let name = self.names[which];
        let findings = match &entry.loaded {
            Err(reason) => vec![finding::unrecovered(
                name,
                &entry.name,
                Property::Deadlock,
                reason,
            )],
            Ok(loaded) => self.decide(name, loaded)?,
        };
        for finding in findings.iter().filter(|_| which == 1) {
            self.exit = self.exit.max(finding.verdict.into());
        }
        Ok(findings)
    }

    fn decide(&self, name: &str, loaded: &Loaded) -> Result<Vec<Finding>, Failure> {
        let mut protocol = loaded.protocol.clone();
        let narrowing = self.arguments.domain.narrowing()?;
        sources::narrow(&mut protocol, &narrowing, name, self.error_style)?;
        let properties = check::listed(&self.arguments.property, || hazard::applicable(&protocol));
        let settings = Settings {
            timeout: self.arguments.timeout,
            objectives: None,
            cancel: &interrupt::CANCEL,
            tell: self.tell,
            kernel: false,
        };
        let internal =
            |error: &dyn std::fmt::Display| Failure::Internal(format!("{name}: {error}"));
        let mut findings = Vec::new();
        for property in properties {
            let mut decision = verdict::decide(&protocol, &narrowing, property, &settings)
                .map_err(|error| internal(&error))?;
            if loaded.recovered.as_ref().is_some_and(|r| !r.exact) {
                check::doubt(&mut decision);
            }
            let mut finding =
                finding::finding(name, &protocol, &decision).map_err(|error| internal(&error))?;
            if let Some(recovered) = &loaded.recovered {
                finding.recovered_from(name, &recovered.source, &recovered.lines);
            }
            findings.push(finding);
        }
        Ok(findings)
    }
}
