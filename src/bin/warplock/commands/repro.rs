//! `warplock repro`: the smallest input that makes a protocol hang.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use serde_json::Value;
use serde_json::json;

use warplock::certificate;
use warplock::encoding::search;
use warplock::encoding::search::Objective;
use warplock::protocol::ParamId;
use warplock::protocol::Protocol;
use warplock::report;
use warplock::repro;
use warplock::repro::Failure;
use warplock::repro::ReproError;
use warplock::repro::emit;
use warplock::repro::emit::Emission;
use warplock::repro::family;
use warplock::repro::family::Family;
use warplock::repro::family::Finding;
use warplock::repro::family::TileSizes;
use warplock::text;
use warplock::text::Narrowing;
use warplock::verdict::deadlock;
use warplock::verdict::decision::Verdict;

use super::emission;
use super::output;

/// Print the smallest input that makes a protocol hang, and write it as tensors or a script
///
/// Without --family, any input of the protocol counts. With one, only patterns that it makes:
/// the fewest tokens, then segments, of packed sequences; the least sq, sk, wl, wr of a window.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Exit status: 0 proved, so there is no failing input; 1 a failing \
    input was found; 2 a file or the command line is wrong; 3 none within a bound; 4 unknown."
)]
pub struct Repro {
    /// The protocol (.wlk)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What is made as small as possible, most important first: parameters, `entries`,
    /// `initial` [default: parameters as declared, entries, residency, initial values]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "family"
    )]
    minimize: Vec<String>,

    /// Fix a parameter
    #[arg(long, value_name = "P=V", value_parser = assignment)]
    set: Vec<(String, i64)>,

    /// Assume a condition over the parameters
    #[arg(long, value_name = "EXPR")]
    assume: Vec<String>,

    /// Consider only patterns of this origin
    #[arg(long, value_name = "FAMILY", value_parser = family_named)]
    family: Option<Family>,

    /// Tile size of both axes, for --family
    /// [default: 128 for packings, each of 64, 128, 256 for windows]
    #[arg(long, value_name = "T", requires = "family", conflicts_with_all = ["tile_m", "tile_n"])]
    tile: Option<u64>,

    /// Queries per row tile, for --family
    #[arg(long, value_name = "TM", requires = "family", requires = "tile_n")]
    tile_m: Option<u64>,

    /// Keys per column tile, for --family
    #[arg(long, value_name = "TN", requires = "family", requires = "tile_m")]
    tile_n: Option<u64>,

    /// Write the input in this form
    #[arg(long, value_name = "FORM", value_parser = emission::parse)]
    emit: Option<Emission>,

    /// Where to write the input [default: stdout]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// How long to search, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    timeout: u64,

    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    format: String,
}

fn assignment(text: &str) -> Result<(String, i64), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected NAME=VALUE".to_owned());
    };
    let number = value.trim().parse();
    let number = number.map_err(|_| format!("{:?} is not an integer", value.trim()))?;
    Ok((name.trim().to_owned(), number))
}

fn family_named(text: &str) -> Result<Family, String> {
    let found = Family::ALL.into_iter().find(|family| family.name() == text);
    found.ok_or_else(|| {
        let names = Family::ALL.map(Family::name);
        format!("expected one of {}", names.join(", "))
    })
}

/// Runs the command. `cancel` ends the search soon after it becomes true.
pub fn run(args: &Repro, cancel: &AtomicBool) -> ExitCode {
    match args.run(cancel) {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            output::diagnostic(&message);
            ExitCode::from(output::USAGE)
        }
    }
}

/// What was found, before it is worded.
struct Answer {
    verdict: &'static str,
    status: u8,
    /// What was asked, between the file's name and the verdict.
    about: String,
    sentence: String,
    reason: String,
    failure: Option<Box<Failure>>,
    engine: &'static str,
}

impl Repro {
    /// The exit status, or what is wrong as it is to be shown.
    fn run(&self, cancel: &AtomicBool) -> Result<u8, String> {
        let started = Instant::now();
        let narrowing = Narrowing {
            set: self.set.iter().cloned().collect(),
            assume: self.assume.clone(),
        };
        let protocol = load(&self.file, &narrowing)?;
        if self.emit.is_some() || self.output.is_some() {
            let form = emission::form(self.emit, self.output.as_deref())?;
            if !form.is_text() && repro::open_pattern(&protocol).is_none() {
                let error = emit::EmitError::NoArrays(form.name());
                return Err(format!("error: {}: {error}\n", self.file.display()));
            }
        }
        let answer = match self.family {
            Some(family) => self.search(&protocol, &narrowing, family, cancel),
            None => self.decide(&protocol, &narrowing, cancel)?,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                output::diagnostic(&format!("error: {}: {error}\n", self.file.display()));
                return Ok(match error.is_internal() {
                    true => output::INTERNAL,
                    false => output::USAGE,
                });
            }
        };
        self.show(&protocol, &answer, started)?;
        Ok(answer.status)
    }

    fn decide(
        &self,
        protocol: &Protocol,
        narrowing: &Narrowing,
        cancel: &AtomicBool,
    ) -> Result<Result<Answer, ReproError>, String> {
        let settings = deadlock::Settings {
            timeout: Duration::from_secs(self.timeout),
            objectives: self.objectives(protocol)?,
            cancel,
            tell: &|_| {},
        };
        Ok(
            repro::smallest(protocol, narrowing, &settings).map(|(decision, failure)| {
                let (status, sentence, reason) = match (&decision.verdict, &failure) {
                    (Verdict::Refuted(_), Some(failure)) => (
                        output::REFUTED,
                        report::repro::sentence(failure),
                        String::new(),
                    ),
                    (Verdict::Proved(_), _) => (
                        output::PROVED,
                        "no input hangs: it is proved for every value of the declared domain"
                            .to_owned(),
                        String::new(),
                    ),
                    (Verdict::Bounded { within, reason }, _) => (
                        output::BOUNDED,
                        format!("no failing input {within}"),
                        reason.clone(),
                    ),
                    (Verdict::Unknown { reason, .. }, _) => {
                        (output::UNKNOWN, reason.clone(), reason.clone())
                    }
                    (Verdict::Refuted(_), None) => (
                        output::UNKNOWN,
                        "no input to show".to_owned(),
                        String::new(),
                    ),
                };
                Answer {
                    verdict: decision.verdict.word(),
                    status,
                    about: "deadlock".to_owned(),
                    sentence,
                    reason,
                    failure: failure.map(Box::new),
                    engine: decision.engine,
                }
            }),
        )
    }

    fn search(
        &self,
        protocol: &Protocol,
        narrowing: &Narrowing,
        family: Family,
        cancel: &AtomicBool,
    ) -> Result<Answer, ReproError> {
        let sizes = self.sizes(family);
        let settings = family::Settings {
            timeout: Duration::from_secs(self.timeout),
            cancel,
            tell: &|_| {},
        };
        let found = family::smallest(protocol, narrowing, family, &sizes, &settings)?;
        let about = report::repro::family(family, &sizes);
        let answer = |verdict, status, sentence: String, reason, failure| Answer {
            verdict,
            status,
            about: about.clone(),
            sentence,
            reason,
            failure,
            engine: "restricted event encoding",
        };
        Ok(match found {
            Finding::Hangs(failure) => {
                let sentence = report::repro::sentence(&failure);
                answer(
                    "REFUTED",
                    output::REFUTED,
                    sentence,
                    String::new(),
                    Some(failure),
                )
            }
            Finding::Proved(_) => {
                let sentence = "none can hang: it is proved for every pattern".to_owned();
                answer("PROVED", output::PROVED, sentence, String::new(), None)
            }
            Finding::Bounded { within, reason } => {
                let sentence = format!("none hangs {within}");
                answer("BOUNDED", output::BOUNDED, sentence, reason, None)
            }
            Finding::Unknown(reason) => {
                answer("UNKNOWN", output::UNKNOWN, reason.clone(), reason, None)
            }
        })
    }

    fn sizes(&self, family: Family) -> Vec<TileSizes> {
        let square = |tile| vec![TileSizes { m: tile, n: tile }];
        match (self.tile, self.tile_m, self.tile_n) {
            (Some(tile), _, _) => square(tile),
            (None, Some(m), Some(n)) => vec![TileSizes { m, n }],
            _ => match family {
                Family::Packed | Family::PackedCausal => square(128),
                Family::Causal | Family::Local => {
                    let usual = [64, 128, 256];
                    let pairs = usual
                        .iter()
                        .flat_map(|m| usual.iter().map(move |n| TileSizes { m: *m, n: *n }));
                    pairs.collect()
                }
            },
        }
    }

    /// The objectives named, then those of the default order that were not.
    fn objectives(&self, protocol: &Protocol) -> Result<Option<Vec<Objective>>, String> {
        if self.minimize.is_empty() {
            return Ok(None);
        }
        let mut order = Vec::new();
        for name in &self.minimize {
            let name = name.trim();
            let param = protocol.params.iter().position(|param| param.name == name);
            let objective = match (param, name) {
                (Some(at), _) => Objective::Param(ParamId(at)),
                (None, "entries") => Objective::Entries,
                (None, "initial") => Objective::Initial,
                (None, _) => {
                    let names = protocol.params.iter().map(|param| param.name.as_str());
                    let names: Vec<&str> = names.chain(["entries", "initial"]).collect();
                    return Err(format!(
                        "error: --minimize: {name:?} is not one of {}\n",
                        names.join(", ")
                    ));
                }
            };
            if !order.contains(&objective) {
                order.push(objective);
            }
        }
        for objective in search::default_objectives(protocol) {
            if !order.contains(&objective) {
                order.push(objective);
            }
        }
        Ok(Some(order))
    }

    fn show(&self, protocol: &Protocol, answer: &Answer, started: Instant) -> Result<(), String> {
        let file = self.file.display();
        let headline = match &answer.failure {
            Some(_) if self.family.is_some() => {
                format!("{file}: {}: {}", answer.about, answer.sentence)
            }
            _ => format!(
                "{file}: {}: {}: {}",
                answer.about, answer.verdict, answer.sentence
            ),
        };
        let writes = self.emit.is_some() || self.output.is_some();
        let mut emitted = false;
        if let (Some(failure), true) = (&answer.failure, writes) {
            let form = emission::form(self.emit, self.output.as_deref())?;
            let bytes = emit::failure(protocol, failure, &headline, form);
            let bytes = bytes.map_err(|error| format!("error: {file}: {error}\n"))?;
            emission::write(&bytes, form, self.output.as_deref())?;
            emitted = true;
        }
        let text = match self.format.as_str() {
            "json" => output::document(&self.json(protocol, answer, started)),
            _ => self.text(&headline, answer, writes && !emitted),
        };
        if emitted && self.output.is_none() {
            output::diagnostic(&text);
            return Ok(());
        }
        output::result(text.as_bytes()).map_err(|error| format!("error: {error}\n"))
    }

    fn text(&self, headline: &str, answer: &Answer, nothing_written: bool) -> String {
        let mut text = format!("{headline}\n");
        if let Some(failure) = &answer.failure {
            text += &report::repro::details(failure);
            if let Some(path) = &self.output {
                text += &format!("\n  written to {}\n", path.display());
            }
        } else if !answer.reason.is_empty() && answer.reason != answer.sentence {
            text += &format!("  {}\n", answer.reason);
        }
        if nothing_written {
            text += "  nothing was written\n";
        }
        text
    }

    fn json(&self, protocol: &Protocol, answer: &Answer, started: Instant) -> Value {
        let failure = answer.failure.as_deref();
        json!({
            "file": self.file.display().to_string(),
            "protocol": protocol.name,
            "property": "deadlock",
            "verdict": answer.verdict,
            "reason": answer.sentence,
            "engine": answer.engine,
            "seconds": started.elapsed().as_secs_f64(),
            "parameters": failure.map(|failure| &failure.witness.parameters),
            "assumptions": certificate::environment(protocol),
            "certificate": null,
            "witness": null,
            "family": self.family.map(Family::name),
            "repro": failure.map(report::repro::json),
        })
    }
}

/// Reads and narrows a protocol.
fn load(path: &Path, narrowing: &Narrowing) -> Result<Protocol, String> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| format!("error: {name}: {error}\n"))?;
    let shown = |found: &[text::Diagnostic], name: &str, source: &str| {
        text::render(found, name, source, false)
    };
    let source = String::from_utf8_lossy(&bytes).into_owned();
    let mut protocol = text::load(&bytes).map_err(|found| shown(&found, &name, &source))?;
    text::narrow(&mut protocol, narrowing).map_err(|found| {
        let joined = narrowing.assume.join(" ");
        shown(&found, "--assume", &joined)
    })?;
    Ok(protocol)
}
