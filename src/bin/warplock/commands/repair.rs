//! `warplock repair`: edits after which a refuted protocol is proved.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::repair;
use warplock::repair::Outcome;
use warplock::repair::Repair;
use warplock::repair::Tally;
use warplock::repair::Wanted;
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
use crate::interrupt;
use crate::options;
use crate::options::Domain;
use crate::session::Session;
use crate::solver;
use crate::sources;

use super::check;
use super::check::Wanted as Named;

/// Options of `repair`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, - for standard input
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
}

/// Repairs.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let name = sources::name_of(&arguments.file);
    let style = session.terminal.out_style();
    let error_style = session.terminal.err_style();
    let quiet = session.quiet;
    session.answer(&name.clone(), move |progress| {
        let tell = |what: &str| progress.tell(0, what);
        let (protocol, narrowing) =
            sources::narrowed(&arguments.file, &arguments.domain, error_style)?;
        let outcome = search(&arguments, &protocol, &narrowing, &name, &tell)?;
        keep(&arguments, &outcome)?;
        let text = shown(&name, &protocol, &outcome, style, quiet)?;
        Ok((text, exit(&outcome)))
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

/// Writes what is to be written.
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

fn exit(outcome: &Outcome) -> Exit {
    let proved = outcome
        .original
        .iter()
        .all(|decision| decision.verdict.is_proved());
    if proved || !outcome.repairs.is_empty() {
        Exit::Success
    } else {
        Exit::Unknown
    }
}

fn shown(
    name: &str,
    protocol: &Protocol,
    outcome: &Outcome,
    style: Style,
    quiet: bool,
) -> Result<String, Failure> {
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
                "{file}: no property was refuted, so there is nothing to repair; {} is {}\n",
                open.property.name(),
                open.verdict.word()
            ),
        });
    };
    let found = finding::finding(name, protocol, refuted)
        .map_err(|error| Failure::Internal(format!("{name}: {error}")))?;
    let verdict = style.verdict(found.verdict);
    let property = refuted.property.name();
    out.push_str(&format!(
        "{file}: {property}: {verdict} {}\n",
        found.summary
    ));
    let total = outcome.repairs.len();
    for (number, repair) in outcome.repairs.iter().enumerate() {
        let heading = style.bold(&format!("repair {}", number + 1));
        let what = visible(&repair.edit.what);
        out.push_str(&format!("{heading}: {what}\n"));
        if !quiet {
            out.push_str(&diff(name, protocol, repair, style));
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

fn proved(properties: &[Property]) -> String {
    let names: Vec<&str> = properties.iter().map(|p| p.name()).collect();
    format!("{} PROVED", names.join(", "))
}

/// What is proved of the repaired text, and what is not.
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

/// The changed lines under where they stand.
fn diff(name: &str, protocol: &Protocol, repair: &Repair, style: Style) -> String {
    let mut out = String::new();
    for hunk in repair::diff::hunks(&protocol.source, &repair.source) {
        out.push_str(&style.dim(&format!("  --> {name}:{}", hunk.line)));
        out.push('\n');
        for line in &hunk.before {
            out.push_str(&format!("  - {}\n", visible(line)));
        }
        for line in &hunk.after {
            out.push_str(&format!("  + {}\n", visible(line)));
        }
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
