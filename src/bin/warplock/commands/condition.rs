//! `warplock condition`: at which parameter values a protocol hangs, as a formula.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use warplock::condition;
use warplock::condition::Condition;
use warplock::condition::Outcome;
use warplock::condition::Sample;
use warplock::condition::boxes;
use warplock::deadline;
use warplock::protocol::Protocol;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;
use warplock::verdict::decision::Decision;
use warplock::verdict::decision::Verdict;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
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

/// How many boxes of parameter values are listed.
const BOXES: usize = 8;

/// The largest number of rows, and of columns, of the table.
const SIDE: usize = 12;

/// Options of `condition`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// A protocol file, - for standard input; PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Time for all of it, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Write the certificates of the proofs into this folder
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
    /// Which entry.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// Runs `condition` for each file of `check --condition`.
pub fn of_each(
    files: Vec<PathBuf>,
    options: &check::Options,
    session: &Session,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Success;
    for file in files {
        let arguments = Arguments {
            file,
            domain: options.domain.clone(),
            timeout: options.timeout,
            certificate: options.certificate.clone(),
            kernels: options.kernels.clone(),
        };
        worst = worst.max(run(arguments, session)?);
    }
    Ok(worst)
}

/// Runs `condition`: looks for the condition of each protocol in the file.
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
        let mut out = String::new();
        let mut exit = Exit::Success;
        let reading = Reading {
            kernels: &arguments.kernels,
            data: false,
            style: error_style,
            end: deadline::after(arguments.timeout),
            tell: &tell,
        };
        protocols::each(&input, &reading, &|_, _| true, &mut |entry, loaded| {
            let (text, open) = one(&arguments, &input, entry, loaded, &reading, (style, quiet))?;
            if !out.is_empty() && !quiet {
                out.push('\n');
            }
            out.push_str(&text);
            if open {
                exit = Exit::Unknown;
            }
            Ok(())
        })?;
        Ok((out, exit))
    })
}

/// The report about one protocol, and whether the condition is not proved.
fn one(
    arguments: &Arguments,
    input: &Input,
    entry: &str,
    loaded: Result<Loaded, String>,
    reading: &Reading<'_>,
    (style, quiet): (Style, bool),
) -> Result<(String, bool), Failure> {
    let name = protocols::name_of(&input.name, entry);
    let file = style.bold(&name);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(reason) => return Ok((format!("{file}: UNKNOWN: {}\n", visible(&reason)), true)),
    };
    let narrowing = arguments.domain.narrowing()?;
    sources::narrow(&mut loaded.protocol, &narrowing, &input.name, reading.style)?;
    if let Some(reason) = verdict::nothing_to_decide(&loaded.protocol) {
        return Ok((format!("{file}: UNKNOWN: {reason}\n"), true));
    }
    let settings = Settings {
        // Recovering the protocol has taken a part of the time.
        timeout: reading.end.saturating_duration_since(Instant::now()),
        objectives: None,
        cancel: &interrupt::CANCEL,
        tell: reading.tell,
        kernel: false,
    };
    let outcome = condition::condition(&loaded.protocol, &narrowing, &settings)
        .map_err(|error| Failure::Internal(format!("{name}: {error}")))?;
    if let Some(folder) = &arguments.certificate {
        keep(folder, &outcome)?;
    }
    let mut text = shown(&file, &loaded.protocol, &outcome, quiet);
    let inexact = loaded.recovered.is_some_and(|recovered| !recovered.exact);
    if inexact && !quiet {
        text.push_str(&format!("  note: {}\n", check::INEXACT));
    }
    Ok((text, !outcome.is_proved()))
}

/// Writes the certificates of the proofs.
fn keep(folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let outside = outcome.condition.iter().flat_map(|c| &c.outside);
    let outside = outside.map(|part| &part.decision);
    let needed = outcome.needed.iter().map(|(_, decision)| decision);
    let shaped = outcome.shaped.iter().map(|shaped| &shaped.otherwise);
    for decision in outside.chain(needed).chain(shaped) {
        if let Verdict::Proved(proof) = &decision.verdict {
            files::folder(folder)?;
            files::certificate(proof, folder)?;
        }
    }
    Ok(())
}

fn shown(file: &str, protocol: &Protocol, outcome: &Outcome, quiet: bool) -> String {
    let mut out = format!("{file}: {}\n", headline(outcome));
    if quiet {
        return out;
    }
    if let Some(condition) = &outcome.condition {
        for (name, definition) in &condition.names {
            out.push_str(&format!("  where {name} = {definition}\n"));
        }
        for part in &condition.outside {
            let verdict = decided(&part.decision, &part.assumed);
            out.push_str(&format!("  outside: {verdict}\n"));
        }
        if !condition.never {
            out.push_str(&format!("  inside: {}\n", inside(condition, outcome)));
            out.push_str(&points(protocol, outcome));
        }
    }
    for (text, decision) in &outcome.needed {
        let verdict = decided(decision, &[]);
        out.push_str(&format!("  unless {text}: {verdict}\n"));
    }
    if let Some(shaped) = &outcome.shaped {
        out.push_str(&format!("  pattern: hangs only if {}\n", shaped.words));
        out.push_str(&format!(
            "    otherwise: {}\n",
            decided(&shaped.otherwise, &[])
        ));
        let open = match shaped.open {
            0 => String::new(),
            open => format!(", {open} are undecided"),
        };
        let hang = match (shaped.hang, shaped.clear) {
            (hang, 0) => format!("all {hang} that were decided hang"),
            (hang, clear) => format!("{hang} hang, {clear} do not"),
        };
        out.push_str(&format!("    of small patterns like that, {hang}{open}\n"));
    }
    out.push_str(&tried(outcome));
    if let Some(condition) = &outcome.condition
        && !condition.always
        && !condition.never
    {
        out.push_str(&table(protocol, outcome, condition));
    }
    out
}

/// The number of samples that hang. A sample is a point of parameter values that was tried.
fn hanging(outcome: &Outcome) -> usize {
    outcome.samples.iter().filter(|(_, hangs)| *hangs).count()
}

/// What is known, in one line. "Only if" is said of what is proved: outside the formula nothing hangs. For the other
/// direction the line says at how many values it was tried.
fn headline(outcome: &Outcome) -> String {
    let hang = hanging(outcome);
    let only: Vec<&str> = outcome
        .needed
        .iter()
        .map(|(text, _)| text.as_str())
        .collect();
    let only = match only.as_slice() {
        [one] => (*one).to_owned(),
        several => {
            let several = several.iter().map(|text| match text.contains("||") {
                true => format!("({text})"),
                false => (*text).to_owned(),
            });
            several.collect::<Vec<_>>().join(" && ")
        }
    };
    let Some(condition) = &outcome.condition else {
        return match only.is_empty() {
            true => "no condition found".to_owned(),
            false => format!("hangs only if {only}; no formula fits what was tried there"),
        };
    };
    let text = &condition.text;
    let proved = condition.is_proved();
    let at = match condition.open {
        0 => format!("at all {hang} values tried there it does"),
        open => format!("at {hang} values tried there it does, {open} are undecided"),
    };
    match (condition.never, condition.always) {
        (true, _) if proved => "never hangs".to_owned(),
        (true, _) => "no hang found, but freedom from deadlock is not proved".to_owned(),
        (_, true) if condition.complete => "hangs at every value".to_owned(),
        (_, true) if condition.open > 0 => {
            format!(
                "hangs at {hang} values tried, {} are undecided",
                condition.open
            )
        }
        (_, true) => format!("hangs at all {hang} values tried"),
        _ if proved && condition.complete => format!("hangs iff {text}"),
        _ if proved => format!("hangs only if {text}; {at}"),
        _ if only.is_empty() => {
            format!("no condition proved; where it was tried, it hangs iff {text}")
        }
        _ => format!("hangs only if {only}; where it was tried, iff {text}"),
    }
}

/// A verdict, the assumptions under which it was decided, and how it was decided.
fn decided(decision: &Decision, assumed: &[String]) -> String {
    let assuming = match assumed.is_empty() {
        true => String::new(),
        false => format!(" assuming {}", assumed.join(", ")),
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
            format!(": {}", visible(reason))
        }
        Verdict::Refuted(_) => String::new(),
    };
    format!("deadlock {}{assuming}{by}", decision.verdict.word())
}

/// What is known of the values at which the formula holds.
fn inside(condition: &Condition, outcome: &Outcome) -> String {
    let hang = hanging(outcome);
    match (condition.complete, condition.open) {
        (true, _) => format!("all {hang} values were tried, and a run hangs at each"),
        (false, 0) => format!("not proved; a run hangs at each of the {hang} values tried"),
        (false, open) => {
            format!("not proved; a run hangs at {hang} of the values tried, {open} are undecided")
        }
    }
}

/// The points that hang, as boxes; only the largest boxes. What is claimed of the inside of the formula is claimed of
/// these points.
fn points(protocol: &Protocol, outcome: &Outcome) -> String {
    let hang = outcome.samples.iter().filter(|(_, hangs)| *hangs);
    let hang: Vec<Vec<i64>> = hang.map(|(at, _)| at.clone()).collect();
    let mut boxes = boxes::boxes(&hang);
    boxes.sort_by_key(|of| std::cmp::Reverse(size(of)));
    let more = boxes.split_off(boxes.len().min(BOXES));
    let mut out = String::new();
    for of in &boxes {
        let ranges = protocol.params.iter().zip(of);
        let ranges = ranges.map(|(param, range)| match range.start() == range.end() {
            true => format!("{} = {}", param.name, range.start()),
            false => format!("{} in {}..={}", param.name, range.start(), range.end()),
        });
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        if !ranges.is_empty() {
            out.push_str(&format!("    at {ranges}\n"));
        }
    }
    match more.iter().map(size).sum() {
        0_u128 => {}
        1 => out.push_str("    and at 1 more\n"),
        more => out.push_str(&format!("    and at {more} more\n")),
    }
    out
}

/// The number of points in a box.
fn size(of: &boxes::Box) -> u128 {
    let sizes = of
        .iter()
        .map(|range| range.end().abs_diff(*range.start()) + 1);
    sizes.map(u128::from).product()
}

/// How many points were tried, and where.
fn tried(outcome: &Outcome) -> String {
    let hang = hanging(outcome);
    let clear = outcome.samples.len() - hang;
    let place = match outcome.region.is_empty() {
        true => String::new(),
        false => format!(" (all of {}, and some beyond)", outcome.region),
    };
    let open = match outcome.open {
        0 => String::new(),
        open => format!(", {open} are undecided"),
    };
    format!("  tried: {hang} points hang, {clear} do not{open}{place}\n")
}

/// A table that shows which samples hang. Its axes are two parameters, first those that the formula is about. All
/// other parameters are fixed at one combination of values.
fn table(protocol: &Protocol, outcome: &Outcome, condition: &Condition) -> String {
    let mut chosen = condition.params.clone();
    chosen.extend((0..protocol.params.len()).filter(|p| !condition.params.contains(p)));
    let (Some(&down), Some(&across)) = (chosen.first(), chosen.get(1)) else {
        return String::new();
    };
    let rest = |at: &[i64]| -> Vec<i64> {
        let others = chosen.iter().skip(2);
        others.filter_map(|p| at.get(*p).copied()).collect()
    };
    let mut all: Vec<Vec<i64>> = outcome.samples.iter().map(|(at, _)| rest(at)).collect();
    all.sort();
    all.dedup();
    // Of the combinations, take one at which both hanging and other samples are frequent: the less frequent kind is
    // as frequent as possible. Of several such combinations, take the least one.
    let mixed = |fixed: &Vec<i64>| {
        let here = outcome.samples.iter().filter(|(at, _)| rest(at) == *fixed);
        let (hang, clear): (Vec<&Sample>, Vec<&Sample>) = here.partition(|(_, hangs)| *hangs);
        hang.len().min(clear.len())
    };
    let Some(fixed) = all.iter().rev().max_by_key(|fixed| mixed(fixed)) else {
        return String::new();
    };
    let here: Vec<_> = outcome
        .samples
        .iter()
        .filter(|(at, _)| rest(at) == *fixed)
        .collect();
    let values = |param: usize| -> Vec<i64> {
        let all = here.iter().filter_map(|(at, _)| at.get(param).copied());
        let mut often: BTreeMap<i64, usize> = BTreeMap::new();
        all.for_each(|value| *often.entry(value).or_default() += 1);
        // A row or column with a single point shows nothing.
        let mut all: Vec<i64> = often
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|(value, _)| value)
            .collect();
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
    let row = |head: String, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>4}")).collect();
        format!("  {head:>5}{cells}").trim_end().to_owned() + "\n"
    };
    out.push_str(&row(
        String::new(),
        columns.iter().map(i64::to_string).collect(),
    ));
    for down_value in rows {
        let mark = |column: &i64| {
            let cell = here.iter().find(|(at, _)| {
                at.get(down) == Some(&down_value) && at.get(across) == Some(column)
            });
            match cell {
                Some((_, true)) => "#".to_owned(),
                Some((_, false)) => ".".to_owned(),
                None => " ".to_owned(),
            }
        };
        out.push_str(&row(
            down_value.to_string(),
            columns.iter().map(mark).collect(),
        ));
    }
    out
}
