//! `warplock check`: decides properties of protocols.

mod decide;
pub mod minimize;
mod outcome;
mod table;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use warplock::protocol::Property;
use warplock::report::text::visible;

use crate::cache::Cache;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::inputs::Input;
use crate::inputs::Inputs;
use crate::inputs::partition::Partition;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::options;
use crate::options::Domain;
use crate::session::Session;
use crate::solver;

pub use decide::INEXACT;
pub use decide::doubt;

use outcome::Emitter;
use outcome::Outcome;

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Protocols (.wlk, - for standard input) and kernels (.ptx, .mlir, .cu, binaries that hold
    /// PTX); a folder stands for all protocols and compiled kernels below it
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Say at which parameters each file hangs, as `warplock condition` does
    #[arg(long, conflicts_with_all = [
        "property", "expect", "witness", "cache", "counterexamples", "format", "jobs", "partition", "minimize",
        "explain_proof", "kernel",
    ])]
    pub condition: bool,
    /// What to decide.
    #[command(flatten)]
    pub options: Options,
}

/// What to decide about kernels, and how to print it.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Properties to decide, or `all` that apply to the protocol; `deadlock` if not given
    #[arg(long, value_name = "P", value_delimiter = ',', value_parser = properties())]
    pub property: Vec<Wanted>,
    /// Which inputs.
    #[command(flatten)]
    pub domain: Domain,
    /// Which kernels.
    #[command(flatten)]
    pub kernels: Kernels,
    /// Time for each property, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = options::seconds)]
    pub timeout: Duration,
    /// Files worked on at once; as many as there are processors if not given
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Decide only this share of the files: part I of N, counted from 1. The parts of equal
    /// arguments have no file in common, and together have all
    #[arg(long, value_name = "I/N", value_parser = Partition::parse)]
    pub partition: Option<Partition>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Write a certificate for every proof into this folder
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
    /// Write a witness for every counterexample into this folder
    #[arg(long, value_name = "DIR")]
    pub witness: Option<PathBuf>,
    /// Keep what is found in this folder, and make verdicts again from what is there: proofs are checked, and
    /// counterexamples replayed. Any number of runs may share it
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Compare with the `expect` lines of the files
    #[arg(long)]
    pub expect: bool,
    /// What to make small in a counterexample, most important first: parameters, `entries`,
    /// `initial`
    #[arg(long, value_name = "ORDER", value_delimiter = ',')]
    pub minimize: Vec<String>,
    /// List up to this many counterexamples, which differ in where the roles wait, or in the
    /// statements, roles or objects that a hazard is about
    #[arg(long, value_name = "N", default_value = "1")]
    pub counterexamples: NonZeroUsize,
    /// Spell the argument of each proof out
    #[arg(long)]
    pub explain_proof: bool,
    /// Draw each counterexample: the run with a lane for each role, and who waits for whom
    #[arg(long)]
    pub chart: bool,
    /// Give the kernel up to 5 seconds to check a proof before other rules are asked
    ///
    /// The kernel is the small checker in src/trusted. It is always asked first, but for a little work only, the same on
    /// every machine.
    #[arg(long)]
    pub kernel: bool,
}

/// The word for every property that applies.
const ALL: &str = "all";

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// One JSON object per line and result.
    JsonLines,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// JUnit XML.
    Junit,
    /// Markdown, to be pasted into an issue.
    Markdown,
    /// One HTML file: the verdict, the run as a chart, and the source beside it.
    Html,
    /// Sequence charts of counterexamples, for Mermaid.
    Mermaid,
    /// Counterexamples as a trace for Perfetto's viewer.
    Perfetto,
}

/// What is to be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Every property that applies to the protocol.
    All,
    /// This one.
    One(Property),
}

/// The properties that are wanted, or `deadlock` if none is given. `all` returns the properties for which the word
/// `all` stands.
pub fn listed(wanted: &[Wanted], all: impl Fn() -> Vec<Property>) -> Vec<Property> {
    let of = |wanted: &Wanted| match wanted {
        Wanted::All => all(),
        Wanted::One(property) => vec![*property],
    };
    let mut properties: Vec<Property> = wanted.iter().flat_map(of).collect();
    if properties.is_empty() {
        properties.push(Property::Deadlock);
    }
    properties
}

/// A parser for names of properties and the word `all`.
pub fn properties() -> impl TypedValueParser<Value = Wanted> {
    let names = Property::ALL.map(Property::name).into_iter();
    PossibleValuesParser::new(names.chain([ALL])).try_map(|name| match name.as_str() {
        ALL => Ok(Wanted::All),
        name => Property::from_name(name)
            .map(Wanted::One)
            .ok_or_else(|| format!("no property named `{name}`")),
    })
}

/// A parser for the name of one property.
pub fn property() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(Property::ALL.map(Property::name)).try_map(|name| {
        Property::from_name(&name).ok_or_else(|| format!("no property named `{name}`"))
    })
}

/// Runs `check`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    solver::check()?;
    let Arguments { files, options, .. } = arguments;
    let inputs = inputs::of(
        &files,
        options.kernels.entry.as_deref(),
        &options.kernels.compiler,
        session,
    )?;
    decide(inputs, &options, session)
}

/// Decides the properties of inputs, and prints each result.
pub fn decide(mut inputs: Inputs, arguments: &Options, session: &Session) -> Result<Exit, Failure> {
    keep_part(&mut inputs, arguments);
    let mut emitter = Emitter::new(arguments, session);
    emitter.sum_up(inputs.gathered());
    all(inputs.all, emitter, arguments, session)
}

/// Decides the properties of inputs, and prints only a summary of all results.
pub fn sweep(mut inputs: Inputs, arguments: &Options, session: &Session) -> Result<Exit, Failure> {
    keep_part(&mut inputs, arguments);
    let mut emitter = Emitter::new(arguments, session);
    emitter.sweep(inputs.gathered().unwrap_or_default());
    all(inputs.all, emitter, arguments, session)
}

fn keep_part(inputs: &mut Inputs, arguments: &Options) {
    if let Some(partition) = arguments.partition {
        partition.keep(inputs);
    }
}

fn all(
    files: Vec<Result<Input, Failure>>,
    mut emitter: Emitter<'_>,
    arguments: &Options,
    session: &Session,
) -> Result<Exit, Failure> {
    let narrowing = arguments.domain.narrowing()?;
    let mut usable = |folder: &Option<PathBuf>| {
        let folder = folder.clone()?;
        match files::folder(&folder) {
            Ok(()) => Some(folder),
            Err(failure) => {
                emitter.failed(&failure);
                None
            }
        }
    };
    let certificate = usable(&arguments.certificate);
    let witness = usable(&arguments.witness);
    let cache = arguments.cache.clone().map(Cache::open).transpose()?;
    let order = Arc::new(decide::Order {
        kernel: arguments.kernel,
        properties: arguments.property.clone(),
        narrowing,
        kernels: arguments.kernels.clone(),
        timeout: arguments.timeout,
        minimize: arguments.minimize.clone(),
        counterexamples: arguments.counterexamples.get(),
        certificate,
        witness,
        cache,
        expect: arguments.expect,
        sources: arguments.format == Format::Html,
        style: session.terminal.err_style(),
        progress: session.progress.clone(),
    });
    let total = files.len();
    let started = Instant::now();
    let results = start(files, arguments.jobs, &order)?;
    let mut kept: BTreeMap<usize, Kept> = BTreeMap::new();
    let mut next = 0;
    while next < total {
        match results.recv_timeout(interrupt::POLL) {
            Ok((number, part)) => {
                let kept = kept.entry(number).or_default();
                match part {
                    Some(outcome) => kept.outcomes.push(outcome),
                    None => kept.ended = true,
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // After a signal, the workers end without an error.
            Err(RecvTimeoutError::Disconnected) if interrupt::requested() => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Internal("a worker died".to_owned()));
            }
        }
        if interrupt::requested() {
            return Err(interrupted(session, emitter, kept, next, total, started));
        }
        while let Some(first) = kept.get_mut(&next) {
            for outcome in first.outcomes.drain(..) {
                emitter.emit(outcome);
            }
            if !first.ended {
                break;
            }
            kept.remove(&next);
            next += 1;
        }
    }
    // With `--partition`, nothing to decide is no mistake: another share may have files.
    if emitter.decided_nothing()
        && arguments.partition.is_none()
        && let Some(entry) = &arguments.kernels.entry
    {
        emitter.failed(&Failure::input(format!(
            "none of the kernels has the entry `{}`",
            visible(entry)
        )));
    }
    emitter.finish()?;
    Ok(emitter.exit())
}

/// The results for a file that cannot be printed yet, because files are printed in their order.
#[derive(Default)]
struct Kept {
    outcomes: Vec<Outcome>,
    /// Whether all results for the file are here.
    ended: bool,
}

/// Starts the workers. Each takes the next file until none is left. A worker sends the results for a file one by one,
/// and `None` after the last.
fn start(
    files: Vec<Result<Input, Failure>>,
    jobs: Option<NonZeroUsize>,
    order: &Arc<decide::Order>,
) -> Result<mpsc::Receiver<(usize, Option<Outcome>)>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let wanted = jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let workers = wanted.min(files.len());
    let files = Arc::new(files);
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..workers {
        let (files, next, order) = (Arc::clone(&files), Arc::clone(&next), Arc::clone(order));
        interrupt::spawn(sender.clone(), move |results| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(number) else {
                    break;
                };
                let send = |part: Option<Outcome>| {
                    // A result that a signal cut short is not sent. Nobody would read it either.
                    if !interrupt::requested() {
                        let _ = results.send((number, part));
                    }
                };
                match file {
                    Ok(input) => decide::file(&order, number, input, &|part| send(Some(part))),
                    Err(failure) => send(Some(Outcome::failed(failure.clone()))),
                }
                send(None);
                if interrupt::requested() {
                    break;
                }
            }
        })?;
    }
    Ok(receiver)
}

/// Handles a signal: prints the results that are there, and says how far the work got.
fn interrupted(
    session: &Session,
    mut emitter: Emitter<'_>,
    kept: BTreeMap<usize, Kept>,
    emitted: usize,
    total: usize,
    started: Instant,
) -> Failure {
    let decided = emitted + kept.values().filter(|kept| kept.ended).count();
    let stages = session.progress.interrupted();
    for outcome in kept.into_values().flat_map(|kept| kept.outcomes) {
        emitter.emit(outcome);
    }
    if let Err(failure) = emitter.finish() {
        return failure;
    }
    let mut lines = vec![format!(
        "interrupted after {:.1} s: {decided} of {total} {} decided",
        started.elapsed().as_secs_f64(),
        if total == 1 { "file" } else { "files" },
    )];
    lines.extend(stages.into_iter().map(|stage| format!("  {stage}")));
    Failure::Interrupted(lines.join("\n"))
}
