//! `warplock repair`: edits after which a refuted protocol is proved.

use std::num::NonZeroUsize;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::deadline;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::repair;
use warplock::repair::Outcome;
use warplock::repair::Repair;
use warplock::repair::Tally;
use warplock::repair::Wanted;
use warplock::repair::diff::Hunk;
use warplock::report::finding;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::text::Narrowing;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;
use warplock::verdict::hazard;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::inputs;
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
use super::check::Wanted as Named;

/// The largest source file from which a line is shown, in bytes.
const LARGEST: usize = 4 << 20;

/// Options of `repair`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, - for standard input; PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Properties that have to hold after the repair; every one that applies if not given
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = check::properties())]
    pub property: Vec<Named>,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Time for all of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// How many repairs to look for
    #[arg(long, value_name = "N", default_value = "3")]
    pub most: NonZeroUsize,
    /// Write the first repaired protocol to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the certificates of the repairs into this folder
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
    /// Which entry.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Runs `repair`: repairs each protocol in the file.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let kernels = &arguments.kernels;
    let entry = kernels.entry.as_deref();
    let input = inputs::one(&arguments.file, entry, &kernels.compiler, session)?;
    let style = session.terminal.out_style();
    let error_style = session.terminal.err_style();
    let quiet = session.quiet;
    session.answer(&input.name.clone(), move |progress| {
        let tell = |what: &str| progress.tell(0, what);
        let reading = Reading {
            kernels: &arguments.kernels,
            data: false,
            style: error_style,
            end: deadline::after(arguments.timeout),
            tell: &tell,
        };
        let mut out = String::new();
        let mut exit = Exit::Success;
        protocols::each(&input, &reading, &|_, _| true, &mut |entry, loaded| {
            let name = protocols::name_of(&input.name, entry);
            if !out.is_empty() && !quiet {
                out.push('\n');
            }
            let mut loaded = match loaded {
                Ok(loaded) => loaded,
                Err(reason) => {
                    let reason = visible(&reason);
                    out.push_str(&format!("{}: UNKNOWN: {reason}\n", style.bold(&name)));
                    exit = Exit::Unknown;
                    return Ok(());
                }
            };
            let narrowing = arguments.domain.narrowing()?;
            sources::narrow(&mut loaded.protocol, &narrowing, &input.name, error_style)?;
            let outcome = search(&arguments, &loaded.protocol, &narrowing, &name, &tell)?;
            keep(&arguments, &outcome)?;
            let seen = Seen {
                name: &name,
                file: &input.name,
                loaded: &loaded,
                style,
                quiet,
            };
            out.push_str(&seen.shown(&outcome)?);
            if !is_done(&outcome) {
                exit = Exit::Unknown;
            }
            Ok(())
        })?;
        Ok((out, exit))
    })
}

fn search(
    arguments: &Arguments,
    protocol: &Protocol,
    narrowing: &Narrowing,
    name: &str,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Outcome, Failure> {
    let mut properties: Vec<Property> = Vec::new();
    for named in &arguments.property {
        let more = match named {
            Named::All => hazard::applicable(protocol),
            Named::One(property) => vec![*property],
        };
        for property in more {
            if let Some(reason) = hazard::inapplicable(protocol, property) {
                let message = format!("{name}: {}: {reason}", property.name());
                return Err(Failure::input(message));
            }
            if !properties.contains(&property) {
                properties.push(property);
            }
        }
    }
    let wanted = Wanted {
        narrowing,
        properties: &properties,
        most: arguments.most.get(),
    };
    let settings = Settings {
        timeout: arguments.timeout,
        objectives: None,
        cancel: &interrupt::CANCEL,
        tell,
        kernel: false,
    };
    repair::repair(protocol, &wanted, &settings)
        .map_err(|error| Failure::Internal(format!("{name}: {error}")))
}

/// Writes the files that are asked for.
fn keep(arguments: &Arguments, outcome: &Outcome) -> Result<(), Failure> {
    if let (Some(path), Some(first)) = (&arguments.output, outcome.repairs.first()) {
        files::write(path, first.source.as_bytes())?;
    }
    let Some(folder) = &arguments.certificate else {
        return Ok(());
    };
    files::folder(folder)?;
    let decisions = outcome.repairs.iter().flat_map(|repair| &repair.decisions);
    for decision in decisions {
        if let Verdict::Proved(proof) = &decision.verdict {
            files::certificate(proof, folder)?;
        }
    }
    Ok(())
}

fn is_refuted(decision: &&Decision) -> bool {
    matches!(decision.verdict, Verdict::Refuted(_))
}

/// Whether there is a repair, or nothing needs one.
fn is_done(outcome: &Outcome) -> bool {
    let mut original = outcome.original.iter();
    !outcome.repairs.is_empty() || original.all(|decision| decision.verdict.is_proved())
}

/// The protocol that is repaired, and how the repairs are shown.
struct Seen<'a> {
    name: &'a str,
    file: &'a str,
    loaded: &'a Loaded,
    style: Style,
    quiet: bool,
}

impl Seen<'_> {
    fn shown(&self, outcome: &Outcome) -> Result<String, Failure> {
        let (name, style, quiet) = (self.name, self.style, self.quiet);
        let mut out = String::new();
        let file = style.bold(name);
        let Some(refuted) = outcome.original.iter().find(is_refuted) else {
            let open = outcome
                .original
                .iter()
                .find(|decision| !decision.verdict.is_proved());
            return Ok(match open {
                None => format!(
                    "{file}: nothing to repair: {}\n",
                    proved(&outcome.properties)
                ),
                Some(open) => format!(
                    "{file}: no property was refuted, so there is nothing to repair; {} is {}{}\n",
                    open.property.name(),
                    open.verdict.word(),
                    match &open.verdict {
                        Verdict::Unknown { reason, .. } => format!(": {}", visible(reason)),
                        _ => String::new(),
                    }
                ),
            });
        };
        let mut found = finding::finding(name, &self.loaded.protocol, refuted)
            .map_err(|error| Failure::Internal(format!("{name}: {error}")))?;
        if let Some(recovered) = &self.loaded.recovered {
            found.recovered_from(self.file, &recovered.source, &recovered.lines);
        }
        let verdict = style.verdict(found.verdict);
        let property = refuted.property.name();
        out.push_str(&format!(
            "{file}: {property}: {verdict} {}\n",
            found.summary
        ));
        let recovered = self.loaded.recovered.as_ref();
        if recovered.is_some_and(|recovered| !recovered.exact) && !quiet {
            out.push_str(&format!("  note: {}\n", check::INEXACT));
        }
        if outcome.partial {
            out.push_str(&format!(
                "no edit was found after which every property holds; after these {property} does:\n"
            ));
        }
        let total = outcome.repairs.len();
        for (number, repair) in outcome.repairs.iter().enumerate() {
            let heading = style.bold(&format!("repair {}", number + 1));
            let what = visible(&repair.edit.what);
            out.push_str(&format!("{heading}: {what}\n"));
            if !quiet {
                out.push_str(&self.diff(repair));
                out.push_str(&verdicts(repair));
            }
        }
        if total == 0 {
            out.push_str("no repair found\n");
        }
        if !quiet {
            out.push_str(&tally(&outcome.tally));
        }
        Ok(out)
    }

    /// The changed lines, each under its place. A change that is the same in several roles of a kernel is shown once.
    fn diff(&self, repair: &Repair) -> String {
        let mut out = String::new();
        let mut shown: Vec<(String, Hunk)> = Vec::new();
        let mut again: Vec<usize> = Vec::new();
        for hunk in repair::diff::hunks(&self.loaded.protocol.source, &repair.source) {
            let place = self.place(&hunk);
            let known = shown.iter().position(|(other, before)| {
                *other == place && before.before == hunk.before && before.after == hunk.after
            });
            match known.filter(|_| self.loaded.recovered.is_some()) {
                Some(known) => again[known] += 1,
                None => {
                    shown.push((place, hunk));
                    again.push(0);
                }
            }
        }
        for ((place, hunk), again) in shown.iter().zip(again) {
            out.push_str(&self.style.dim(&format!("  --> {}", visible(place))));
            out.push('\n');
            if let Some(line) = self.source_line(place) {
                out.push_str(&format!("  | {}\n", visible(&line)));
            }
            for line in &hunk.before {
                out.push_str(&format!("  - {}\n", visible(line)));
            }
            for line in &hunk.after {
                out.push_str(&format!("  + {}\n", visible(line)));
            }
            if again > 0 {
                let roles = if again == 1 {
                    "another role"
                } else {
                    "other roles"
                };
                out.push_str(&format!("  the same in {roles} ({again})\n"));
            }
        }
        out
    }

    /// The place of a change: in the file, or in the kernel from which the line was recovered.
    fn place(&self, hunk: &Hunk) -> String {
        let Some(recovered) = &self.loaded.recovered else {
            return format!("{}:{}", self.file, hunk.line);
        };
        let lines: Vec<&str> = self.loaded.protocol.source.lines().collect();
        // An insertion is placed after the line before it.
        let line = match hunk.before.is_empty() {
            true => hunk.line.saturating_sub(1).max(1),
            false => hunk.line,
        };
        let text = line.checked_sub(1).and_then(|at| lines.get(at));
        let origin = text
            .and_then(|text| text.rsplit_once("// "))
            .map(|(_, place)| place.trim());
        let origin = origin.filter(|place| {
            let number = place.rsplit_once(':').map(|(_, number)| number);
            number.is_some_and(|number| number.parse::<usize>().is_ok())
        });
        let assembly = line
            .checked_sub(1)
            .and_then(|at| recovered.lines.get(at).copied().flatten());
        let assembly = assembly.map(|line| format!("{}:{line}", self.file));
        let after = if hunk.before.is_empty() { "after " } else { "" };
        match (origin, assembly) {
            (Some(origin), Some(assembly)) => format!("{after}{origin}, {assembly}"),
            (Some(place), None) => format!("{after}{place}"),
            (None, Some(place)) => format!("{after}{place}"),
            (None, None) => format!(
                "{after}line {line} of what `warplock lift` prints of {}",
                self.name
            ),
        }
    }

    /// The line of the kernel's source, if the source file is in the same folder as the kernel.
    fn source_line(&self, place: &str) -> Option<String> {
        self.loaded.recovered.as_ref()?;
        let first = place.split(", ").next()?.trim_start_matches("after ");
        let (file, number) = first.rsplit_once(':')?;
        let number: usize = number.parse().ok()?;
        let beside = Path::new(self.file)
            .parent()?
            .join(Path::new(file).file_name()?);
        let text = sources::read_up_to(&beside, LARGEST).ok()?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().nth(number.checked_sub(1)?)?;
        Some(line.trim().to_owned())
    }
}

fn proved(properties: &[Property]) -> String {
    let names: Vec<&str> = properties.iter().map(|p| p.name()).collect();
    format!("{} PROVED", names.join(", "))
}

/// The properties that are proved of the repaired protocol, and those that are not.
fn verdicts(repair: &Repair) -> String {
    let all = repair.decisions.iter();
    let decided: Vec<Property> = all
        .filter(|d| d.verdict.is_proved())
        .map(|d| d.property)
        .collect();
    let mut out = format!("  {}\n", proved(&decided));
    for open in repair.decisions.iter().filter(|d| !d.verdict.is_proved()) {
        let (property, word) = (open.property.name(), open.verdict.word());
        let said = match &open.verdict {
            Verdict::Bounded { within, .. } => format!(": none {within}"),
            Verdict::Unknown { reason, .. } => format!(": {reason}"),
            Verdict::Proved(_) | Verdict::Refuted(_) => String::new(),
        };
        out.push_str(&format!("  {property} {word}{}\n", visible(&said)));
    }
    out
}

fn tally(tally: &Tally) -> String {
    let edits = if tally.tried == 1 { "edit" } else { "edits" };
    let left = match tally.left {
        0 => String::new(),
        left => format!("; {left} left"),
    };
    format!(
        "{} {edits} tried: {} repairs, {} refuted, {} do less than before, {} the same as another, {} not decided{left}\n",
        tally.tried, tally.repairs, tally.refuted, tally.idle, tally.same, tally.open
    )
}
