//! `warplock condition`: at which parameter values a protocol hangs, as a formula.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use warplock::condition;
use warplock::condition::Formula;
use warplock::condition::Outcome;
use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Verdict;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::options;
use crate::options::Domain;
use crate::session::Session;
use crate::solver;
use crate::sources;

/// The largest side of the table.
const SIDE: usize = 12;

/// Options of `condition`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Time for all of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Write the certificate of the proof into this folder
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
}

/// Looks for the condition.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let name = sources::name_of(&arguments.file);
    let style = session.terminal.out_style();
    let error_style = session.terminal.err_style();
    let quiet = session.quiet;
    session.answer(&name.clone(), move |progress| {
        let (protocol, narrowing) =
            sources::narrowed(&arguments.file, &arguments.domain, error_style)?;
        let tell = |what: &str| progress.tell(0, what);
        let settings = Settings {
            timeout: arguments.timeout,
            objectives: None,
            cancel: &interrupt::CANCEL,
            tell: &tell,
            kernel: false,
        };
        let outcome = condition::condition(&protocol, &narrowing, &settings)
            .map_err(|error| Failure::Internal(format!("{name}: {error}")))?;
        if let (Some(folder), Some(decision)) = (&arguments.certificate, &outcome.outside)
            && let Verdict::Proved(proof) = &decision.verdict
        {
            files::folder(folder)?;
            files::certificate(proof, folder)?;
        }
        let exit = match outcome.is_proved() {
            true => Exit::Success,
            false => Exit::Unknown,
        };
        Ok((shown(&name, &protocol, &outcome, style, quiet), exit))
    })
}

fn shown(name: &str, protocol: &Protocol, outcome: &Outcome, style: Style, quiet: bool) -> String {
    let file = style.bold(name);
    let params = protocol.params.iter();
    let names: Vec<&str> = params.map(|p| p.name.as_str()).collect();
    let Some(formula) = &outcome.formula else {
        return format!("{file}: no condition found\n{}", samples(outcome, quiet));
    };
    let mut out = match (outcome.is_proved(), formula.never(), formula.always()) {
        (true, true, _) => format!("{file}: never hangs\n"),
        (false, true, _) => {
            format!("{file}: no hang found, but freedom from deadlock is not proved\n")
        }
        (_, _, true) => format!("{file}: hangs at every value that was tried\n"),
        (true, ..) if outcome.open_inside() > 0 => {
            format!("{file}: hangs only if {}\n", formula.text(&names))
        }
        (true, ..) => format!("{file}: hangs iff {}\n", formula.text(&names)),
        (false, ..) => format!(
            "{file}: no condition proved; what was tried hangs iff {}\n",
            formula.text(&names)
        ),
    };
    if quiet {
        return out;
    }
    if let Some(decision) = &outcome.outside {
        let assumed = outcome.assumed.join(", ");
        let assuming = match assumed.is_empty() {
            true => String::new(),
            false => format!(" assuming {assumed}"),
        };
        let by = match &decision.verdict {
            Verdict::Proved(proof) => match proof.certificate.argument.searched() {
                Some(searched) => format!(": by exhaustive search of {}", searched.extent()),
                None => {
                    let count = proof.obligations.len();
                    format!(": all {count} obligations of the {} hold", decision.engine)
                }
            },
            Verdict::Unknown { reason, .. } | Verdict::Bounded { reason, .. } => {
                format!(": {reason}")
            }
            Verdict::Refuted(_) => String::new(),
        };
        let word = decision.verdict.word();
        out.push_str(&format!("  outside: deadlock {word}{assuming}{by}\n"));
    }
    out.push_str(&samples(outcome, quiet));
    if !formula.always() && !formula.never() {
        out.push_str(&table(protocol, outcome, formula));
    }
    out
}

/// What was tried.
fn samples(outcome: &Outcome, quiet: bool) -> String {
    if quiet {
        return String::new();
    }
    let hang = outcome.samples.iter().filter(|(_, hangs)| *hangs).count();
    let clear = outcome.samples.len() - hang;
    let place = match outcome.region.is_empty() {
        true => String::new(),
        false => format!(" (all of {}, and some beyond)", outcome.region),
    };
    let open = match (outcome.open.len(), outcome.open_inside()) {
        (0, _) => String::new(),
        (open, 0) => format!(", {open} are undecided"),
        (open, inside) => format!(", {open} are undecided, {inside} of them inside"),
    };
    // A sample that hangs is inside of the formula, and one that does not is outside: it fits them all.
    let inside = match &outcome.formula {
        Some(formula) if !formula.never() => "  inside: nothing is proved\n",
        _ => "",
    };
    format!("{inside}  tried: {hang} points hang, {clear} do not{open}{place}\n")
}

/// Which samples hang, over the two parameters that the formula is about; the others are at the
/// values at which most samples are.
fn table(protocol: &Protocol, outcome: &Outcome, formula: &Formula) -> String {
    let mut chosen = formula.params();
    chosen.extend((0..protocol.params.len()).filter(|p| !formula.params().contains(p)));
    let (Some(&down), Some(&across)) = (chosen.first(), chosen.get(1)) else {
        return String::new();
    };
    let rest = |at: &[i64]| -> Vec<i64> {
        let others = chosen.iter().skip(2);
        others.filter_map(|p| at.get(*p).copied()).collect()
    };
    // Of the values of the others, those at which both letters are to be seen, the least ones.
    let mixed = |fixed: &Vec<i64>| {
        let here = outcome.samples.iter().filter(|(at, _)| rest(at) == *fixed);
        let hang: Vec<bool> = here.map(|(_, hangs)| *hangs).collect();
        hang.contains(&true) && hang.contains(&false)
    };
    let mut all: Vec<Vec<i64>> = outcome.samples.iter().map(|(at, _)| rest(at)).collect();
    all.sort();
    all.dedup();
    let Some(fixed) = all.iter().find(|fixed| mixed(fixed)).or(all.first()) else {
        return String::new();
    };
    let here: Vec<_> = outcome
        .samples
        .iter()
        .filter(|(at, _)| rest(at) == *fixed)
        .collect();
    let values = |param: usize| -> Vec<i64> {
        let mut all: Vec<i64> = here
            .iter()
            .filter_map(|(at, _)| at.get(param).copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(SIDE);
        all
    };
    let (rows, columns) = (values(down), values(across));
    let name = |p: usize| protocol.params[p].name.as_str();
    let at: Vec<String> = chosen
        .iter()
        .skip(2)
        .zip(fixed)
        .map(|(p, value)| format!("{} = {value}", name(*p)))
        .collect();
    let at = match at.as_slice() {
        [] => String::new(),
        at => format!(" at {}", at.join(", ")),
    };
    let mut out = format!(
        "  # hangs, . does not, blank was not tried; {} down, {} across{at}:\n",
        name(down),
        name(across)
    );
    out.push_str("       ");
    for column in &columns {
        out.push_str(&format!("{column:>4}"));
    }
    out.push('\n');
    for row in rows {
        let mut line = format!("  {row:>5}");
        for column in &columns {
            let cell = here
                .iter()
                .find(|(at, _)| at.get(down) == Some(&row) && at.get(across) == Some(column));
            let mark = match cell {
                Some((_, true)) => "#",
                Some((_, false)) => ".",
                None => " ",
            };
            line.push_str(&format!("{mark:>4}"));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
