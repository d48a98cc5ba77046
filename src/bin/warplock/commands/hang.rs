//! `warplock hang`: decides whether the kernel can reach a hang that somebody observed, and prints a run that reaches
//! it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::ValueEnum;
use warplock::deadline;
use warplock::observation;
use warplock::observation::Observation;
use warplock::observation::bind;
use warplock::observation::bind::Texts;
use warplock::report::hang;
use warplock::report::hang::Outcome;
use warplock::report::hang::Report;
use warplock::report::json;
use warplock::report::text::Detail;
use warplock::report::text::abridged;
use warplock::report::text::visible;
use warplock::text::words::is_word;
use warplock::verdict;
use warplock::verdict::deadlock::Settings;

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

/// The largest observation that is read, in bytes.
const LARGEST: usize = 64 << 20;

/// Options of `hang`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// The kernel: a protocol file, PTX, MLIR, CUDA C++ or a binary that holds PTX
    #[arg(value_name = "KERNEL")]
    pub file: PathBuf,
    /// What was seen: text of cuda-gdb, or a table of block, warp and line; - for standard input
    #[arg(long, value_name = "FILE", required = true)]
    pub from: Vec<PathBuf>,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Time for the search and the proof, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: Format,
    /// Which entry.
    #[command(flatten)]
    pub kernels: Kernels,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// Runs `hang`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let mut text = String::new();
    // For each file, the number of lines of `text` before it.
    let mut begins = Vec::new();
    for path in &arguments.from {
        begins.push((text.lines().count(), sources::name_of(path)));
        let bytes = sources::read_up_to(path, LARGEST)?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let seen = observation::read(&text);
    if !session.quiet {
        session.terminal.err(&skipped(&seen, &begins));
    }
    if seen.seen.is_empty() && seen.barriers.is_empty() {
        let names: Vec<String> = arguments
            .from
            .iter()
            .map(|path| sources::name_of(path))
            .collect();
        return Err(Failure::input(format!("{} says nothing that is understood", names.join(" and "))).hint(
            "expected what cuda-gdb prints (the line of the focus and `bt`, `info cuda threads`, `info cuda warps`, \
             `x/gx`), or a table whose header names block, warp and line",
        ));
    }
    let mut kernels = arguments.kernels.clone();
    let entry = kernels.entry.clone();
    let input = inputs::one(
        &arguments.file,
        entry.as_deref(),
        &kernels.compiler,
        session,
    )?;
    // The number of threads is taken from the observed launch.
    if let (None, Some(threads), false) = (kernels.threads, seen.threads, kernels.symbolic_threads)
    {
        let sizes = threads
            .0
            .map(|size| u32::try_from(size).ok().filter(|size| *size > 0));
        if let [Some(x), Some(y), Some(z)] = sizes {
            kernels.threads = Some([x, y, z]);
        }
    }
    let detail = Detail {
        style: session.terminal.out_style(),
        quiet: session.quiet,
        argument: false,
        chart: false,
        z3: solver::version(),
    };
    let error_style = session.terminal.err_style();
    session.answer(&input.name.clone(), move |progress| {
        let tell = |what: &str| progress.tell(0, what);
        let reading = Reading {
            kernels: &kernels,
            data: false,
            style: error_style,
            end: deadline::after(arguments.timeout),
            tell: &tell,
        };
        let report = answer(&input, &reading, &arguments, &seen)?;
        let exit = match report.outcome {
            Outcome::Reached => Exit::Refuted,
            Outcome::Excluded => Exit::Success,
            Outcome::NotFound => Exit::Bounded,
            Outcome::Unknown => Exit::Unknown,
        };
        let text = match arguments.format {
            Format::Text => hang::text(&report, detail),
            Format::Json => json::document(&[report], detail.z3)
                .map_err(|error| Failure::Internal(format!("cannot write JSON: {error}")))?,
        };
        Ok((text, exit))
    })
}

/// How many of the lines that could not be understood are listed.
const MOST_SKIPPED: usize = 8;

/// How much of such a line is shown, in characters.
const SKIPPED_LENGTH: usize = 60;

/// Notes about lines that seem to be about barriers and could not be understood.
fn skipped(seen: &Observation, begins: &[(usize, String)]) -> String {
    let mut out = String::new();
    for skipped in seen.skipped.iter().take(MOST_SKIPPED) {
        let of = begins
            .iter()
            .rev()
            .find(|(before, _)| *before < skipped.line);
        let (before, name) = of.map_or((0, ""), |(before, name)| (*before, name.as_str()));
        let line = skipped.line - before;
        let text = abridged(&visible(&skipped.text), SKIPPED_LENGTH);
        out.push_str(&format!(
            "note: {}:{line}: not used: `{text}`: {}\n",
            visible(name),
            skipped.why
        ));
    }
    let more = seen.skipped.len().saturating_sub(MOST_SKIPPED);
    if more > 0 {
        out.push_str(&format!(
            "note: {more} more lines about barriers are not used\n"
        ));
    }
    out
}

/// The answer for the entry that the observation is about.
fn answer(
    input: &Input,
    reading: &Reading<'_>,
    arguments: &Arguments,
    seen: &Observation,
) -> Result<Report, Failure> {
    let mut report = None;
    let mut names = Vec::new();
    let mentioned = |name: &str| {
        let named = |kernel: &String| {
            let rest = name.strip_prefix(kernel.as_str());
            rest.is_some_and(|rest| !rest.starts_with(is_word))
        };
        seen.kernels.iter().any(named)
    };
    let wanted = |name: &str, all: &[String]| all.len() == 1 || mentioned(name);
    protocols::each(input, reading, &wanted, &mut |entry, loaded| {
        names.push(entry.to_owned());
        let name = match entry {
            "" => input.name.clone(),
            entry => format!("{}:{entry}", input.name),
        };
        let told = match loaded {
            Ok(loaded) => one(&input.name, loaded, reading, arguments, seen)?,
            Err(reason) => hang::unknown(&name, entry, seen, &reason, Vec::new()),
        };
        // If the observation names several entries, the answer is for an entry that can reach the observed state, if
        // there is one.
        let better =
            |old: &Report| told.outcome == Outcome::Reached && old.outcome != Outcome::Reached;
        if report.as_ref().is_none_or(better) {
            report = Some(told);
        }
        Ok(())
    })?;
    report.ok_or_else(|| {
        let mut all = Vec::new();
        let listed = reading
            .kernels
            .each(input, reading.style, reading.tell, &mut |entry| {
                all.push(entry.name().to_owned());
                Ok(())
            });
        let failure = Failure::input(format!("{} has several entries", visible(&input.name)));
        match listed {
            Ok(()) => failure.hint(format!(
                "what was seen names none of them; choose one with --entry: {}",
                visible(&all.join(", "))
            )),
            Err(failure) => failure,
        }
    })
}

fn one(
    name: &str,
    loaded: Loaded,
    reading: &Reading<'_>,
    arguments: &Arguments,
    seen: &Observation,
) -> Result<Report, Failure> {
    let Loaded {
        mut protocol,
        recovered,
        launched,
    } = loaded;
    let narrowing = arguments.domain.narrowing()?;
    sources::narrow(&mut protocol, &narrowing, name, reading.style)?;
    let texts = Texts {
        file: name,
        kernel: recovered
            .as_ref()
            .map(|recovered| recovered.lines.as_slice()),
    };
    let bound = bind::bind(&protocol, texts, seen);
    if !bound.says_something() && seen.barriers.is_empty() {
        return Ok(hang::unrelated(name, &protocol, texts, &bound));
    }
    // If the assumptions exclude all values, every claim about schedules would hold.
    if let Some(reason) = verdict::nothing_to_decide(&protocol) {
        return Ok(hang::undecided(name, &protocol, &bound, reason));
    }
    let settings = Settings {
        timeout: arguments.timeout,
        objectives: None,
        cancel: &interrupt::CANCEL,
        tell: reading.tell,
        kernel: false,
    };
    let internal = |error: &dyn std::fmt::Display| Failure::Internal(format!("{name}: {error}"));
    let answer = verdict::hang::decide(&protocol, &narrowing, &bound, &settings)
        .map_err(|error| internal(&error))?;
    let kernel = recovered.as_ref().map(|recovered| hang::Kernel {
        file: name,
        source: &recovered.source,
        lines: &recovered.lines,
    });
    let mut report =
        hang::report(name, &protocol, kernel, &bound, &answer).map_err(|error| internal(&error))?;
    if recovered.is_some_and(|recovered| !recovered.exact) && report.outcome == Outcome::Reached {
        report.outcome = Outcome::Unknown;
        report.summary = format!("{}: {}", check::INEXACT, report.summary);
    }
    if let Some(finding) = &mut report.finding {
        finding.assumptions.extend(launched);
    }
    Ok(report)
}
