//! `warplock csr`: concrete block-sparse tensors against a lock scheme.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use warplock::protocol::RowOrder;
use warplock::report;
use warplock::repro::emit;
use warplock::repro::emit::Emission;
use warplock::schemes;
use warplock::schemes::Judgement;
use warplock::schemes::LaunchChoice;
use warplock::schemes::Lock;
use warplock::schemes::Outcome;
use warplock::schemes::Residency;
use warplock::schemes::Scheme;
use warplock::schemes::SchemeError;
use warplock::tensors;
use warplock::tensors::BlockSparse;
use warplock::tensors::ReadOptions;
use warplock::tensors::TensorErrorKind;
use warplock::tensors::packing;
use warplock::tensors::packing::Tiling;
use warplock::tensors::torch::LockScheme;
use warplock::text;

use super::emission;
use super::output;

/// Say whether a kernel that takes turns by a lock hangs on these block-sparse tensors
///
/// Every CTA n visits its row tiles m in order and at each waits for sem[m] == lock(n, m), adds,
/// and increments sem[m]. The verdict holds for every schedule and, unless --resident is given,
/// for every number of resident CTAs.
#[derive(Debug, Args)]
#[command(after_long_help = LOCKS_HELP)]
pub struct Csr {
    /// A JSON, npz, npy, safetensors or 0/1 text file with the arrays
    #[arg(value_name = "TENSORS")]
    tensors: Option<PathBuf>,

    /// The lock: n, rank, reversed-rank, or an expression over n, m, N, M, visits[n, m],
    /// rank(n, m), total(m) and count(k in 0..n where ...); `list` lists the names
    #[arg(long, value_name = "NAME|EXPR", allow_hyphen_values = true)]
    lock: Option<String>,

    /// In which order a CTA visits its row
    #[arg(long, value_name = "ORDER", default_value = "given",
          value_parser = ["given", "ascending", "descending", "any"])]
    order: String,

    /// In which order CTAs start [default: what the lock expects; ascending for an expression]
    #[arg(long, value_name = "ORDER", value_parser = ["ascending", "descending", "any"])]
    launch: Option<String>,

    /// How many CTAs are resident at once [default: every number is judged]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
    resident: Option<u32>,

    /// The number of row tiles, where the file does not say it
    #[arg(long, value_name = "M", conflicts_with = "segments")]
    m_blocks: Option<usize>,

    /// Which batch to take
    #[arg(long, value_name = "B", conflicts_with = "segments")]
    batch: Option<usize>,

    /// Which head to take
    #[arg(long, value_name = "H", conflicts_with = "segments")]
    head: Option<usize>,

    /// Build the tensors of packed sequences with these lengths instead of reading a file;
    /// @PATH takes the lengths from a file
    #[arg(long, value_name = "LENGTHS", conflicts_with = "tensors")]
    segments: Option<String>,

    /// Tile size of both axes, for --segments
    #[arg(long, value_name = "T", requires = "segments", conflicts_with_all = ["tile_m", "tile_n"])]
    tile: Option<u64>,

    /// Queries per row tile, for --segments [default: 128]
    #[arg(long, value_name = "TM", requires = "segments")]
    tile_m: Option<u64>,

    /// Keys per column tile, for --segments [default: 128]
    #[arg(long, value_name = "TN", requires = "segments")]
    tile_n: Option<u64>,

    /// A query sees only keys up to its own position, for --segments
    #[arg(long, requires = "segments")]
    causal: bool,

    /// Write the tensors in this form; without --lock that is all
    #[arg(long, value_name = "FORM", value_parser = emission::parse)]
    emit: Option<Emission>,

    /// Where to write the tensors [default: stdout]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Write the protocol that is judged to this file
    #[arg(long, value_name = "PATH")]
    emit_protocol: Option<PathBuf>,

    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    format: String,
}

const LOCKS_HELP: &str = "\
Named locks:
  n              the CTA's own index: n
  rank           CTAs below n that visit m: count(k in 0..n where visits[k, m])
  reversed-rank  CTAs above n that visit m: total(m) - 1 - rank(n, m); expects CTAs to start
                 with the last

Exit status: 0 it completes, 1 it hangs, 2 a file or the command line is wrong, 4 unknown.";

/// Runs the command.
pub fn run(args: &Csr) -> ExitCode {
    if args.lock.as_deref() == Some("list") {
        return list_locks();
    }
    if args.tensors.is_none() && args.segments.is_none() {
        return output::usage("give a file with the tensors, or --segments to build them");
    }
    match args.run() {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            output::diagnostic(&message);
            ExitCode::from(output::USAGE)
        }
    }
}

fn list_locks() -> ExitCode {
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
    match output::result(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::usage(&error.to_string()),
    }
}

impl Csr {
    /// The exit status, or what is wrong as it is to be shown.
    fn run(&self) -> Result<u8, String> {
        let started = Instant::now();
        let name = self.name();
        let tiles = self.tiles(&name)?;
        let scheme = self.scheme();
        let only_writes = self.lock.is_none() && (self.emit.is_some() || self.output.is_some());
        if let Some(path) = &self.emit_protocol {
            scheme.protocol().map_err(|found| shown(&found, &scheme))?;
            let written = output::file(path, scheme.text().as_bytes());
            written.map_err(|message| format!("error: {message}\n"))?;
        }
        if only_writes {
            self.emit(&tiles, &LockScheme::rank(&tiles), &name)?;
            return Ok(output::PROVED);
        }
        let resident = self.resident.map(|resident| resident as usize);
        let judgement = schemes::judge(&tiles, &scheme, resident).map_err(|error| match error {
            SchemeError::Expression(found) => shown(&found, &scheme),
            SchemeError::Run(fault) => format!(
                "error: {name}: lock = {} has no value at every visited tile: {fault}\n",
                scheme.lock
            ),
        })?;
        if self.emit.is_some() || self.output.is_some() {
            let locks = emit::lock_scheme(&tiles, &judgement.instance, &[]);
            let locks = locks.unwrap_or_else(|| LockScheme::rank(&tiles));
            self.emit(&tiles, &locks, &name)?;
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
        let text = match self.format.as_str() {
            "json" => output::document(&report::csr::json(&subject)),
            _ => report::csr::text(&subject),
        };
        // Arrays on stdout leave no room for the report.
        if self.emit.is_some() && self.output.is_none() {
            output::diagnostic(&text);
        } else {
            output::result(text.as_bytes()).map_err(|error| format!("error: {error}\n"))?;
        }
        Ok(match judgement.outcome {
            Outcome::Completes => output::PROVED,
            Outcome::Hangs => output::REFUTED,
            Outcome::Unknown(_) => output::UNKNOWN,
        })
    }

    fn name(&self) -> String {
        match (&self.tensors, &self.segments) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(segments)) if segments.len() <= 40 => format!("segments {segments}"),
            (None, _) => "segments".to_owned(),
        }
    }

    fn tiles(&self, name: &str) -> Result<BlockSparse, String> {
        let failed = |error: tensors::TensorError| match error.kind() {
            // The message names the file.
            TensorErrorKind::Read => format!("error: {error}\n"),
            _ => format!("error: {name}: {error}\n"),
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
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| format!("error: {path} cannot be read: {error}\n"))?,
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
        scheme.order = match self.order.as_str() {
            "ascending" => RowOrder::Ascending,
            "descending" => RowOrder::Descending,
            "any" => RowOrder::Any,
            _ => RowOrder::Given,
        };
        match self.launch.as_deref() {
            Some("ascending") => scheme.launch = LaunchChoice::Ascending,
            Some("descending") => scheme.launch = LaunchChoice::Descending,
            Some("any") => scheme.launch = LaunchChoice::Any,
            _ => {}
        }
        scheme
    }

    fn emit(&self, tiles: &BlockSparse, locks: &LockScheme, name: &str) -> Result<(), String> {
        let form = emission::form(self.emit, self.output.as_deref())?;
        let bytes = emit::arrays(tiles, locks, name, form);
        let bytes = bytes.map_err(|error| format!("error: {error}\n"))?;
        emission::write(&bytes, form, self.output.as_deref())
    }

    /// What the rank lock would come to, when another lock hangs.
    fn repair(&self, tiles: &BlockSparse, scheme: &Scheme, now: &Judgement) -> Option<String> {
        if now.outcome != Outcome::Hangs || scheme.lock.name == Some("rank") {
            return None;
        }
        let rank = Scheme {
            order: scheme.order,
            ..Scheme::new(Lock::new("rank"))
        };
        let judgement = schemes::judge(tiles, &rank, None).ok()?;
        (judgement.residency == Residency::Every).then(|| {
            "with lock = rank and CTAs started in ascending order every row tile completes, with \
             any number of resident CTAs"
                .to_owned()
        })
    }
}

/// Mistakes in the lock, with the place in it.
fn shown(found: &[text::Diagnostic], scheme: &Scheme) -> String {
    text::render(found, "--lock", &scheme.lock.expression, false)
}
