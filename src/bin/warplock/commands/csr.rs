//! `warplock csr`: checks concrete block-sparse tensors against a lock scheme.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use clap::ValueEnum;
use warplock::protocol::RowOrder;
use warplock::report;
use warplock::report::style::Style;
use warplock::report::text::visible;
use warplock::repro::emit;
use warplock::repro::emit::EmitError;
use warplock::schemes;
use warplock::schemes::Judgement;
use warplock::schemes::LaunchChoice;
use warplock::schemes::Lock;
use warplock::schemes::Outcome;
use warplock::schemes::Scheme;
use warplock::schemes::SchemeError;
use warplock::tensors;
use warplock::tensors::BlockSparse;
use warplock::tensors::ReadOptions;
use warplock::tensors::TensorErrorKind;
use warplock::tensors::packing;
use warplock::tensors::packing::Tiling;
use warplock::tensors::torch::LockScheme;
use warplock::text::Diagnostic;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::interrupt;
use crate::session::Session;
use crate::solver;
use crate::sources;

use super::emission::Target;

/// The longest file of segment lengths, in bytes.
const LONGEST_LIST: usize = 64 << 20;

/// Options of `csr`.
///
/// Every CTA n visits its row tiles m in order and at each waits for sem[m] == lock(n, m), adds,
/// and increments sem[m]. The verdict holds for every schedule and, unless --resident is given,
/// for every number of resident CTAs.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = LOCKS_HELP)]
pub struct Arguments {
    /// A JSON, npz, npy, safetensors, PyTorch (.pt) or 0/1 text file with the arrays
    #[arg(value_name = "TENSORS")]
    pub tensors: Option<PathBuf>,
    /// The lock: n, rank, reversed-rank, or an expression over n, m, N, M, visits[n, m],
    /// rank(n, m), total(m) and count(k in 0..n where ...); n if not given. `list` lists the
    /// names
    #[arg(long, value_name = "NAME|EXPR", allow_hyphen_values = true)]
    pub lock: Option<String>,
    /// In which order a CTA visits its row
    #[arg(long, value_name = "ORDER", default_value = "given")]
    pub order: Order,
    /// In which order CTAs start; what the lock expects if not given
    #[arg(long, value_name = "ORDER")]
    pub launch: Option<Launch>,
    /// How many CTAs are resident at once; every number is judged if not given
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    pub resident: Option<u32>,
    /// The number of row tiles, where the file does not say it
    #[arg(long, value_name = "M", conflicts_with = "segments")]
    pub m_blocks: Option<usize>,
    /// Which batch to take
    #[arg(long, value_name = "B", conflicts_with = "segments")]
    pub batch: Option<usize>,
    /// Which head to take
    #[arg(long, value_name = "H", conflicts_with = "segments")]
    pub head: Option<usize>,
    /// Build the tensors of packed sequences with these lengths instead of reading a file;
    /// @PATH takes the lengths from a file
    #[arg(long, value_name = "LENGTHS", conflicts_with = "tensors")]
    pub segments: Option<String>,
    /// Tile size of both axes, for --segments; 128 if not given
    #[arg(long, value_name = "T", requires = "segments", conflicts_with_all = ["tile_m", "tile_n"])]
    pub tile: Option<u64>,
    /// Queries per row tile, for --segments
    #[arg(long, value_name = "TM", requires = "segments")]
    pub tile_m: Option<u64>,
    /// Keys per column tile, for --segments
    #[arg(long, value_name = "TN", requires = "segments")]
    pub tile_n: Option<u64>,
    /// A query sees only keys up to its own position, for --segments
    #[arg(long, requires = "segments")]
    pub causal: bool,
    /// Where and in which form the tensors are written; without --lock that is all.
    #[command(flatten)]
    pub target: Target,
    /// Write the protocol that is judged to this file
    #[arg(long, value_name = "PATH")]
    pub emit_protocol: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
}

/// In which order a CTA visits its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// As the arrays list it.
    Given,
    /// From the smallest m.
    Ascending,
    /// From the largest m.
    Descending,
    /// Any order.
    Any,
}

/// In which order CTAs start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Launch {
    /// CTA 0 first.
    Ascending,
    /// The last CTA first.
    Descending,
    /// Any order.
    Any,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

const LOCKS_HELP: &str = "\
Named locks:
  n              the CTA's own index: n
  rank           CTAs below n that visit m: count(k in 0..n where visits[k, m])
  reversed-rank  CTAs above n that visit m: total(m) - 1 - rank(n, m); expects CTAs to start
                 with the last

Exit status: 0 it completes, 1 it hangs, 2 a file or the command line is wrong, 4 unknown.";

/// Runs `csr`.
pub fn run(arguments: Arguments, session: &Session) -> Result<Exit, Failure> {
    if arguments.lock.as_deref() == Some("list") {
        session.terminal.out(&locks());
        return Ok(Exit::Success);
    }
    if arguments.tensors.is_none() && arguments.segments.is_none() {
        return Err(Failure::input("no tensors are given")
            .hint("name a file with them, or build them with --segments"));
    }
    let form = arguments.target.form()?;
    let style = session.terminal.err_style();
    let asked = arguments.clone();
    let quiet = session.quiet;
    session.progress.begin(0, &arguments.name());
    let result = interrupt::run(move || asked.answer(style, quiet));
    let answer = session.progress.close(0, result)?;
    if let (Some(path), Some(text)) = (&arguments.emit_protocol, &answer.protocol) {
        files::write(path, text.as_bytes())?;
    }
    if let (Some(form), Some(bytes)) = (form, &answer.tensors) {
        arguments.target.write(bytes, form, session)?;
    }
    // If the arrays go to standard output, the report goes to standard error.
    if arguments.target.leaves_stdout() {
        session.terminal.out(&answer.report);
    } else {
        session.terminal.err(&answer.report);
    }
    Ok(answer.exit)
}

fn locks() -> String {
    let mut text = String::new();
    for named in schemes::NAMED {
        text += &format!(
            "{:<14} {:<26} launch {:<11} {}\n",
            named.name,
            named.expression,
            named.launch.word(),
            named.about
        );
        text += &format!("{:<14} also: {}\n", "", named.aliases.join(", "));
    }
    text
}

/// What is to be written and printed.
struct Answer {
    protocol: Option<String>,
    tensors: Option<Vec<u8>>,
    report: String,
    exit: Exit,
}

impl Arguments {
    fn answer(&self, style: Style, quiet: bool) -> Result<Answer, Failure> {
        let started = Instant::now();
        let name = self.name();
        let tiles = self.tiles(&name)?;
        let scheme = self.scheme();
        let expression =
            |found: &[Diagnostic]| Failure::text(found, "--lock", &scheme.lock.expression, style);
        let form = self.target.form()?;
        let written = |locks: &LockScheme| match form {
            Some(form) => emit::arrays(&tiles, locks, &name, form)
                .map(Some)
                .map_err(|error| match error {
                    EmitError::NoRun => Failure::input(error.to_string()),
                    _ => Failure::Internal(error.to_string()),
                }),
            None => Ok(None),
        };
        let mut answer = Answer {
            protocol: None,
            tensors: None,
            report: String::new(),
            exit: Exit::Success,
        };
        if self.emit_protocol.is_some() {
            scheme.protocol().map_err(|found| expression(&found))?;
            answer.protocol = Some(scheme.text());
        }
        if self.lock.is_none() && form.is_some() {
            answer.tensors = written(&LockScheme::rank(&tiles))?;
            return Ok(answer);
        }
        let resident = self.resident.map(|resident| resident as usize);
        let judgement = schemes::judge(&tiles, &scheme, resident).map_err(|error| match error {
            SchemeError::Expression(found) => expression(&found),
            SchemeError::Run(fault) => Failure::input(format!(
                "{name}: lock = {} has no value at every visited tile: {fault}",
                scheme.lock
            )),
        })?;
        if form.is_some() {
            answer.tensors = written(&judgement.lock_scheme())?;
        }
        let repair = self.repair(&tiles, &scheme, &judgement);
        let subject = report::csr::Subject {
            name: &name,
            tiles: &tiles,
            scheme: &scheme,
            judgement: &judgement,
            repair: repair.as_deref(),
            seconds: started.elapsed().as_secs_f64(),
        };
        answer.report = match (self.format, quiet) {
            (Format::Json, _) => {
                report::json::document(&[report::csr::json(&subject)], solver::version())
                    .map_err(|error| Failure::Internal(error.to_string()))?
            }
            (Format::Text, true) => report::csr::first_line(&subject),
            (Format::Text, false) => report::csr::text(&subject),
        };
        answer.exit = match judgement.outcome {
            Outcome::Completes => Exit::Success,
            Outcome::Hangs => Exit::Refuted,
            Outcome::Unknown(_) => Exit::Unknown,
        };
        Ok(answer)
    }

    fn name(&self) -> String {
        match (&self.tensors, &self.segments) {
            (Some(path), _) => visible(&path.display().to_string()),
            (None, Some(segments)) if segments.len() <= 40 => {
                visible(&format!("segments {segments}"))
            }
            (None, _) => "segments".to_owned(),
        }
    }

    fn tiles(&self, name: &str) -> Result<BlockSparse, Failure> {
        let failed = |error: tensors::TensorError| match error.kind() {
            // The message names the file.
            TensorErrorKind::Read => Failure::input(error.to_string()),
            _ => Failure::input(format!("{name}: {error}")),
        };
        if let Some(path) = &self.tensors {
            let options = ReadOptions {
                m_blocks: self.m_blocks,
                batch: self.batch,
                head: self.head,
                ..ReadOptions::default()
            };
            return tensors::read(path, &options).map_err(failed);
        }
        let given = self.segments.as_deref().unwrap_or_default();
        let text = match given.strip_prefix('@') {
            Some(path) => {
                let bytes = sources::read_up_to(path.as_ref(), LONGEST_LIST)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            None => given.to_owned(),
        };
        let lengths = packing::parse_lengths(&text).map_err(failed)?;
        let size = |own: Option<u64>| own.or(self.tile).unwrap_or(128);
        let tiling = Tiling {
            tile_m: size(self.tile_m),
            tile_n: size(self.tile_n),
            causal: self.causal,
        };
        packing::pack(&lengths, tiling).map_err(failed)
    }

    fn scheme(&self) -> Scheme {
        let mut scheme = Scheme::new(Lock::new(self.lock.as_deref().unwrap_or("n")));
        scheme.order = match self.order {
            Order::Given => RowOrder::Given,
            Order::Ascending => RowOrder::Ascending,
            Order::Descending => RowOrder::Descending,
            Order::Any => RowOrder::Any,
        };
        match self.launch {
            Some(Launch::Ascending) => scheme.launch = LaunchChoice::Ascending,
            Some(Launch::Descending) => scheme.launch = LaunchChoice::Descending,
            Some(Launch::Any) => scheme.launch = LaunchChoice::Any,
            None => {}
        }
        scheme
    }

    /// If another lock than `rank` hangs: a sentence that the `rank` lock would always complete, if so.
    fn repair(&self, tiles: &BlockSparse, scheme: &Scheme, now: &Judgement) -> Option<String> {
        if now.outcome != Outcome::Hangs || scheme.lock.name == Some("rank") {
            return None;
        }
        let rank = Scheme {
            order: scheme.order,
            ..Scheme::new(Lock::new("rank"))
        };
        let completes = schemes::always_completes(tiles, &rank).ok()?;
        completes.then(|| {
            "with lock = rank and CTAs started in ascending order every row tile completes, with \
             any number of resident CTAs"
                .to_owned()
        })
    }
}
