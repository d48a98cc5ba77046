//! A certificate as files: a manifest, and one SMT-LIB script per obligation.
//!
//! The manifest contains the text of the protocol, the narrowing of its domain, the rule and its artefact. A check
//! starts from this text: it parses the text, derives the obligations anew, compares them with the recorded scripts
//! to the letter, and discharges them. So an edited text, artefact, domain or script is noticed, and so is a
//! certificate for another protocol.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use super::argument::Argument;
use super::discharge;
use super::discharge::Answer;
use super::discharge::Solver;
use super::exhaustive;
use super::exhaustive::Exhaustive;
use super::grid::Residency;
use super::in_step;
use super::in_turn;
use super::known::Known;
use super::normal;
use super::obligation::Obligation;
use super::order;
use super::order::artefact::Order;
use super::program::Unsupported;
use super::workers;
use crate::protocol::LaunchOrder;
use crate::protocol::Property;
use crate::protocol::Protocol;
use crate::text;
use crate::text::Narrowing;

/// The version of the certificate format.
pub const SCHEMA: u32 = 1;

/// The largest manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// If all obligations are discharged in this time, one worker is enough.
const ALONE: Duration = Duration::from_millis(100);

/// The name of the manifest in a certificate's folder.
pub const MANIFEST: &str = "manifest.json";

/// The manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The format's version.
    pub schema: u32,
    /// The program that wrote it.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The protocol's name.
    pub protocol: String,
    /// The property that is proved.
    pub property: String,
    /// SHA-256 of `source`, in hexadecimal.
    pub sha256: String,
    /// The protocol's text.
    pub source: String,
    /// How the domain was narrowed from outside the text.
    pub narrowing: Narrowing,
    /// The assumptions of the proof, for readers. The check compares them with what it derives.
    pub assumptions: Vec<String>,
    /// The argument.
    pub argument: Argument,
    /// The obligations.
    pub obligations: Vec<Entry>,
}

/// One obligation of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its script's file name in the certificate's folder.
    pub file: String,
    /// SHA-256 of the script, in hexadecimal.
    pub sha256: String,
    /// The meaning of the obligation.
    pub meaning: String,
}

/// Why a certificate was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// It cannot be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// It is damaged, or it is not about the protocol that it names.
    #[error("{0}")]
    Mismatch(String),
    /// It was not read to its end in time.
    #[error("the time was up before the obligations were derived")]
    Late,
    /// An obligation was not discharged.
    #[error("obligation {name} was not discharged: {reason} ({meaning})")]
    Open {
        /// The obligation.
        name: String,
        /// The meaning of the obligation.
        meaning: String,
        /// The answer of the solver.
        reason: String,
    },
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How many obligations were discharged.
    pub obligations: usize,
    /// The protocol's name.
    pub protocol: String,
    /// The property.
    pub property: String,
    /// The rule.
    pub rule: &'static str,
    /// What checked it, as words that fit after "the".
    pub checker: &'static str,
    /// The extent of the search, if the argument is a search.
    pub searched: Option<Exhaustive>,
    /// The assumptions of the proof.
    pub assumptions: Vec<String>,
}

/// Writes an argument down as a certificate, with the obligations derived from it.
///
/// # Errors
///
/// An argument that does not fit the protocol.
pub fn issue(
    source: &str,
    narrowing: &Narrowing,
    property: &str,
    argument: Argument,
) -> Result<(Certificate, Vec<Obligation>), Rejection> {
    let protocol = load(source, narrowing)?;
    let unknown = || Rejection::Mismatch(format!("there is no property `{property}`"));
    let property = Property::from_name(property).ok_or_else(unknown)?;
    let obligations = derive(&protocol, &argument)?;
    let certificate = Certificate {
        schema: SCHEMA,
        tool: "warplock".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: protocol.name.clone(),
        property: property.name().to_owned(),
        sha256: digest(source),
        source: source.to_owned(),
        narrowing: narrowing.clone(),
        assumptions: assumptions(&protocol, property, &argument),
        argument,
        obligations: obligations
            .iter()
            .map(|obligation| Entry {
                file: format!("{}.smt2", obligation.name),
                sha256: digest(&obligation.script()),
                meaning: obligation.meaning.clone(),
            })
            .collect(),
    };
    Ok((certificate, obligations))
}

/// Checks a certificate: derives its obligations anew, compares them, and discharges each. `each` limits the time for
/// one obligation. `tell` is called with the name of the next obligation.
///
/// # Errors
///
/// Says why the certificate is not accepted.
pub fn check(
    certificate: &Certificate,
    solver: &Solver,
    each: Duration,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Checked, Rejection> {
    if *solver == Solver::BuiltIn {
        return check_knowing(certificate, &Known::default(), each, tell);
    }
    let discharge = |obligation: &Obligation| discharge::discharge(obligation, solver, each);
    accept(certificate, None, &discharge, tell)
}

/// The same by the linked solver, which is not asked about obligations in the cache.
///
/// # Errors
///
/// Says why the certificate is not accepted.
pub fn check_knowing(
    certificate: &Certificate,
    known: &Known,
    each: Duration,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Checked, Rejection> {
    let discharge = |obligation: &Obligation| known.discharge(obligation, each);
    accept(certificate, Some(known), &discharge, tell)
}

/// `built_in` is given if no other solver is asked for. Then multipliers are accepted as proofs.
fn accept(
    certificate: &Certificate,
    built_in: Option<&Known>,
    discharge: &(dyn Fn(&Obligation) -> Answer + Sync),
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Checked, Rejection> {
    let (protocol, property, obligations) = verify(certificate)?;
    match &certificate.argument {
        Argument::Order(order) if built_in.is_some() => {
            multiplied(&protocol, order)?;
            let text = certificate.argument.text_defined(&protocol);
            discharge_all(&text.map_err(inapplicable)?, discharge, tell)?;
        }
        Argument::Exhaustive(recorded) => searched_again(&protocol, property, recorded, tell)?,
        _ => {
            if let Some(known) = built_in {
                known.discharge_at_once(&obligations);
            }
            discharge_all(&obligations, discharge, tell)?;
        }
    }
    Ok(Checked {
        obligations: obligations.len(),
        protocol: certificate.protocol.clone(),
        property: certificate.property.clone(),
        rule: certificate.argument.rule(),
        checker: certificate.argument.checker(),
        searched: certificate.argument.searched(),
        assumptions: certificate.assumptions.clone(),
    })
}

/// Repeats the search, and compares its extent with the recorded one.
fn searched_again(
    protocol: &Protocol,
    property: Property,
    recorded: &Exhaustive,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), Rejection> {
    let limits = exhaustive::limits();
    let found = exhaustive::explored(protocol, property, &limits, tell).map_err(inapplicable)?;
    match found == *recorded {
        true => Ok(()),
        false => Err(Rejection::Mismatch(format!(
            "the search came to {}, and not to {}",
            found.extent(),
            recorded.extent()
        ))),
    }
}

/// Checks every obligation of an order proof by its multipliers, without a solver.
fn multiplied(protocol: &Protocol, order: &Order) -> Result<(), Rejection> {
    match order::unproved(&normal::normal(protocol), order).map_err(inapplicable)? {
        None => Ok(()),
        Some((claim, reason)) => Err(Rejection::Open {
            name: claim.name,
            meaning: claim.meaning,
            reason,
        }),
    }
}

/// Discharges every obligation, several at the same time. If some are not discharged, the first one in order is
/// reported, regardless of which answer came first.
fn discharge_all(
    obligations: &[Obligation],
    discharge: &(dyn Fn(&Obligation) -> Answer + Sync),
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(), Rejection> {
    // All obligations up to the first failure are decided, so the report does not depend on timing.
    let first_failure = AtomicUsize::new(usize::MAX);
    let failures = Mutex::new(BTreeMap::new());
    workers::each(obligations.len(), ALONE, |at| {
        if at > first_failure.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        tell(&obligations[at].meaning);
        let reason = match discharge(&obligations[at]) {
            Answer::Discharged => return ControlFlow::Continue(()),
            Answer::Fails => {
                "this step of the proof fails, which need not be a fault of the protocol".to_owned()
            }
            Answer::Unknown(reason) => reason,
        };
        first_failure.fetch_min(at, Ordering::Relaxed);
        failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(at, reason);
        ControlFlow::Continue(())
    });
    let failures = failures
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match failures.into_iter().next() {
        None => Ok(()),
        Some((at, reason)) => Err(Rejection::Open {
            name: obligations[at].name.clone(),
            meaning: obligations[at].meaning.clone(),
            reason,
        }),
    }
}

/// Derives the obligations anew from the embedded protocol, and compares everything in the manifest with them.
fn verify(certificate: &Certificate) -> Result<(Protocol, Property, Vec<Obligation>), Rejection> {
    let mismatch = |what: String| Err(Rejection::Mismatch(what));
    if certificate.schema != SCHEMA {
        return mismatch(format!(
            "certificate format {} is not the known format {SCHEMA}",
            certificate.schema
        ));
    }
    if digest(&certificate.source) != certificate.sha256 {
        return mismatch("the embedded protocol does not match its digest".to_owned());
    }
    let protocol = load(&certificate.source, &certificate.narrowing)?;
    if protocol.name != certificate.protocol {
        return mismatch(format!(
            "the certificate is for `{}` but embeds `{}`",
            certificate.protocol, protocol.name
        ));
    }
    let property = Property::from_name(&certificate.property);
    let proves = |p: &Property| certificate.argument.proves(&protocol, *p);
    let Some(property) = property.filter(proves) else {
        return mismatch(format!(
            "this argument by the {} does not prove `{}`",
            certificate.argument.checker(),
            certificate.property
        ));
    };
    if assumptions(&protocol, property, &certificate.argument) != certificate.assumptions {
        return mismatch("the recorded assumptions are not those of the proof".to_owned());
    }
    let obligations = derive(&protocol, &certificate.argument)?;
    // Readers rely on the meaning of an obligation, so it is compared, too.
    let derived: BTreeMap<String, (String, &str)> = obligations
        .iter()
        .map(|o| {
            let file = format!("{}.smt2", o.name);
            (file, (digest(&o.script()), o.meaning.as_str()))
        })
        .collect();
    let recorded: BTreeMap<String, (String, &str)> = certificate
        .obligations
        .iter()
        .map(|e| (e.file.clone(), (e.sha256.clone(), e.meaning.as_str())))
        .collect();
    if recorded.len() != certificate.obligations.len() {
        return mismatch("an obligation is recorded twice".to_owned());
    }
    if let Some((file, _)) = derived
        .iter()
        .find(|(file, content)| recorded.get(*file) != Some(*content))
    {
        return mismatch(format!(
            "{file} is missing from the manifest or differs from what the rule requires"
        ));
    }
    if let Some(file) = recorded.keys().find(|file| !derived.contains_key(*file)) {
        return mismatch(format!(
            "{file} is recorded but the rule does not require it"
        ));
    }
    Ok((protocol, property, obligations))
}

/// Writes a certificate into a new folder below `into`, and returns this folder. Files get their final names only
/// when they are complete.
///
/// # Errors
///
/// Names the file that could not be written.
pub fn write(
    certificate: &Certificate,
    obligations: &[Obligation],
    into: &Path,
) -> Result<PathBuf, Rejection> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| Rejection::File {
            path: path.clone(),
            reason: error.to_string(),
        }
    };
    let manifest = serde_json::to_string_pretty(certificate)
        .map_err(|error| Rejection::Mismatch(error.to_string()))?;
    let short = &digest(&manifest)[..12];
    let folder = into.join(format!(
        "{}-{}-{short}",
        certificate.protocol, certificate.property
    ));
    fs::create_dir_all(into).map_err(failed(into))?;
    let partial = tempfile::Builder::new()
        .prefix(".certificate-")
        .tempdir_in(into)
        .map_err(failed(into))?;
    for obligation in obligations {
        let path = partial.path().join(format!("{}.smt2", obligation.name));
        fs::write(&path, obligation.script()).map_err(failed(&path))?;
    }
    let path = partial.path().join(MANIFEST);
    let mut file = fs::File::create(&path).map_err(failed(&path))?;
    file.write_all(manifest.as_bytes()).map_err(failed(&path))?;
    file.sync_all().map_err(failed(&path))?;
    // The name is a digest of the content. So an existing folder has the same content.
    if !folder.exists()
        && let Err(error) = fs::rename(partial.path(), &folder)
        && !folder.exists()
    {
        return Err(failed(&folder)(error));
    }
    Ok(folder)
}

/// Reads a certificate from its folder or its manifest, and compares the scripts beside it.
///
/// # Errors
///
/// Names the file that is missing, unreadable, damaged or different from the manifest.
pub fn read(path: &Path) -> Result<Certificate, Rejection> {
    let manifest = if path.is_dir() {
        path.join(MANIFEST)
    } else {
        path.to_owned()
    };
    let failed = |path: &Path, reason: String| Rejection::File {
        path: path.to_owned(),
        reason,
    };
    let size = fs::metadata(&manifest)
        .map_err(|e| failed(&manifest, e.to_string()))?
        .len();
    if size > MAX_MANIFEST_BYTES {
        return Err(failed(
            &manifest,
            format!("{size} bytes are more than a manifest has"),
        ));
    }
    let content = fs::read(&manifest).map_err(|e| failed(&manifest, e.to_string()))?;
    let certificate: Certificate =
        serde_json::from_slice(&content).map_err(|e| failed(&manifest, e.to_string()))?;
    let folder = manifest.parent().unwrap_or_else(|| Path::new("."));
    for entry in &certificate.obligations {
        // A file name that leads out of the folder was not written by this program.
        if Path::new(&entry.file).components().count() != 1 {
            return Err(failed(
                &manifest,
                format!("`{}` is not a file of the certificate", entry.file),
            ));
        }
        let script = folder.join(&entry.file);
        let text = fs::read_to_string(&script).map_err(|e| failed(&script, e.to_string()))?;
        if digest(&text) != entry.sha256 {
            return Err(failed(
                &script,
                "the script differs from the one the manifest records".to_owned(),
            ));
        }
    }
    Ok(certificate)
}

/// The assumptions of a proof by this argument, in addition to the protocol's text.
pub fn assumptions(protocol: &Protocol, property: Property, argument: &Argument) -> Vec<String> {
    let mut all = super::environment(protocol, property);
    if in_step::is_in_step(protocol, property, argument) {
        all.retain(|assumption| !assumption.starts_with(in_step::OUT_OF_STEP));
    }
    if in_turn::is_in_turn(protocol, argument) {
        all.retain(|assumption| !assumption.starts_with(in_turn::OUT_OF_TURN));
    }
    let grid = protocol.roles.iter().any(|role| role.launch.is_some());
    if let Argument::Exhaustive(_) = argument {
        all.extend(exhaustive::launch_assumptions(protocol));
        return all;
    }
    let launches = protocol.roles.iter();
    let mut launches = launches.filter_map(|role| role.launch.as_ref());
    match argument.places(protocol) {
        // If CTAs start in any order, the proof is about the numbers that they draw.
        Some(Residency::LaunchOrder) if launches.any(|l| l.order != LaunchOrder::Any) => {
            all.push(super::LAUNCH_ORDER.to_owned());
        }
        Some(Residency::WholeGrid) if grid => {
            all.push("all CTAs of the grid are resident at once".to_owned());
        }
        _ => {}
    }
    all
}

fn derive(protocol: &Protocol, argument: &Argument) -> Result<Vec<Obligation>, Rejection> {
    argument.all_obligations(protocol).map_err(inapplicable)
}

fn inapplicable(refused: Unsupported) -> Rejection {
    if refused.is_late() {
        return Rejection::Late;
    }
    Rejection::Mismatch(format!(
        "the rule does not apply to the protocol: {refused}"
    ))
}

/// The protocol that a certificate is about.
///
/// # Errors
///
/// A text that is not a protocol.
pub fn protocol(certificate: &Certificate) -> Result<Protocol, Rejection> {
    load(&certificate.source, &certificate.narrowing)
}

fn load(source: &str, narrowing: &Narrowing) -> Result<Protocol, Rejection> {
    let refused = |problems: Vec<text::Diagnostic>| {
        let first = problems
            .first()
            .map_or_else(String::new, |d| d.message.clone());
        Rejection::Mismatch(format!("the embedded protocol is not valid: {first}"))
    };
    let mut protocol = text::load(source.as_bytes()).map_err(refused)?;
    text::narrow(&mut protocol, narrowing).map_err(refused)?;
    Ok(protocol)
}

/// SHA-256 in hexadecimal.
pub fn digest(text: &str) -> String {
    let mut out = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        out.push_str(&format!("{byte:02x}"));
    }
    out
}
