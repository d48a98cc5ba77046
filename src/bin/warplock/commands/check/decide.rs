//! Decides the properties of one file.

mod beside;
mod property;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use warplock::deadline;
use warplock::protocol::Expectation;
use warplock::protocol::Property;
use warplock::protocol::Protocol;
use warplock::ptx::Instead;
use warplock::ptx::Lifted;
use warplock::ptx::Recovery;
use warplock::report::finding;
use warplock::report::style::Style;
use warplock::text::MAX_SOURCE_BYTES;
use warplock::text::Narrowing;
use warplock::verdict::Shared;
use warplock::verdict::hazard;

pub use property::INEXACT;
pub use property::doubt;

use crate::cache::Cache;
use crate::failure::Failure;
use crate::inputs::Input;
use crate::interrupt;
use crate::kernel_options::Kernels;
use crate::kernels;
use crate::progress::Progress;
use crate::sources;

use super::Wanted;
use super::listed;
use super::outcome::Outcome;

/// What to decide about every file.
pub struct Order {
    /// Whether the proof kernel gets up to 5 seconds for each proof before other rules are asked, see `--kernel`.
    pub kernel: bool,
    /// The properties. If empty, `deadlock`; with `expect`, those that the file's `expect` lines name.
    pub properties: Vec<Wanted>,
    /// The narrowing: which inputs are looked at.
    pub narrowing: Narrowing,
    /// Which kernels (entries) are decided, and how they are launched.
    pub kernels: Kernels,
    /// Time for each property.
    pub timeout: Duration,
    /// The objectives by which a counterexample is minimized.
    pub minimize: Vec<String>,
    /// How many counterexamples to list.
    pub counterexamples: usize,
    /// The folder for certificates.
    pub certificate: Option<PathBuf>,
    /// The folder for witnesses.
    pub witness: Option<PathBuf>,
    /// The results of earlier runs.
    pub cache: Option<Cache>,
    /// Whether to decide the `expect` lines of the file. Then `properties`, if not empty, selects among these lines.
    pub expect: bool,
    /// Whether to read the sources from which kernels were compiled.
    pub sources: bool,
    /// The emphasis of diagnostics.
    pub style: Style,
    /// Shows what is being done at present.
    pub progress: Progress,
}

/// Decides everything about one file. Each result goes to `results` as soon as it is there.
pub fn file(order: &Order, number: usize, input: &Input, results: &dyn Fn(Outcome)) {
    let name = input.name.as_str();
    order.progress.begin(number, name);
    let work = Work {
        order,
        number,
        name,
        text_name: input.text_name(),
        entry: "",
        recovered_in: Duration::ZERO,
        note: None,
        kernel: None,
        exact: true,
        launches: &[],
        recovery: None,
        others: &[],
        launched: &[],
        lints: None,
        results,
    };
    let done = interrupt::guarded(|| work.file(input));
    if let Err(failure) = done {
        results(Outcome::failed(failure));
    }
    order.progress.end(number);
}

/// The properties to decide of a kernel. Properties about data are decided of a separate protocol, which has the
/// reads and writes of memory. So an access that cannot be followed leaves the other properties decidable.
struct Asked {
    /// The properties of the protocol without reads and writes. `None` if only properties about data are asked for.
    plain: Option<Vec<Wanted>>,
    /// The properties of the protocol with reads and writes.
    data: Vec<Wanted>,
    /// Whether every property that applies is asked for.
    all: bool,
}

impl Asked {
    fn of(properties: &[Wanted]) -> Asked {
        let (mut data, plain): (Vec<Wanted>, Vec<Wanted>) =
            properties.iter().partition(|w| about_data(**w));
        let all = plain.contains(&Wanted::All);
        if all {
            data = [Property::Race, Property::StaleRead]
                .map(Wanted::One)
                .into();
        }
        let only_data = plain.is_empty() && !data.is_empty();
        Asked {
            plain: (!only_data).then_some(plain),
            data,
            all,
        }
    }
}

/// Recovers another protocol of a kernel, after the previous one could not be decided. The argument is the reason for
/// that. An error is the reason why there is no other protocol, if one is to be reported.
type Other<'a> = &'a dyn Fn(String) -> Result<Lifted, Option<String>>;

#[derive(Clone, Copy)]
struct Work<'a> {
    order: &'a Order,
    number: usize,
    name: &'a str,
    /// The name of the kernel's text, whose lines are counted.
    text_name: &'a str,
    /// For progress messages: which entry of the file this is about.
    entry: &'a str,
    /// How long the recovery of the protocol took. This counts towards the time for each property.
    recovered_in: Duration,
    /// A note about the line numbers of a finding, if the protocol was recovered.
    note: Option<&'static str>,
    /// The kernel from which the protocol was recovered: the file, its text, and for each line of the protocol the
    /// line of that text.
    kernel: Option<(&'a str, &'a str, &'a [Option<usize>])>,
    /// Whether a counterexample is one of a launch, see [`Lifted::exact`].
    exact: bool,
    /// Launches that were run on the interpreter, see [`Lifted::launches`].
    launches: &'a [(String, BTreeMap<String, i64>)],
    /// How the protocol was recovered, if it was.
    recovery: Option<&'a Recovery>,
    /// Further protocols of the same kernel, to be decided if this one cannot be.
    others: &'a [Other<'a>],
    /// What is known of the launch from outside the file, as sentences.
    launched: &'a [String],
    /// For a kernel, what the lints find in it. Shown with every result that is not proved.
    lints: Option<&'a dyn Fn() -> Vec<String>>,
    results: &'a dyn Fn(Outcome),
}

impl Work<'_> {
    fn file(&self, input: &Input) -> Result<(), Failure> {
        if let Some(reason) = input.closed() {
            self.unknown(self.name, "", reason, &self.order.properties);
            return Ok(());
        }
        if input.is_kernel() {
            return self.kernels(input);
        }
        let bytes = input.read(MAX_SOURCE_BYTES)?;
        self.protocol(&bytes, &self.order.properties)
    }

    /// Does work that may take as long as a decision, and ends the work at that time.
    fn in_time<T>(&self, work: impl FnOnce() -> T) -> T {
        deadline::until(deadline::after(self.order.timeout), work)
    }

    /// The function that shows what is being done at present.
    fn teller(&self) -> impl Fn(&str) + Sync {
        let (progress, number, entry) = (&self.order.progress, self.number, self.entry);
        move |what| progress.tell(number, &format!("{entry}{what}"))
    }

    /// Lifts every entry that is asked for, and decides its protocol like a protocol that somebody wrote.
    fn kernels(&self, input: &Input) -> Result<(), Failure> {
        let asked = Asked::of(&self.order.properties);
        let tell = self.teller();
        let (kernels, style) = (&self.order.kernels, self.order.style);
        kernels.each(input, style, &tell, &mut |entry| {
            // If one entry lacks something that the user has to give, the other entries are decided all the same.
            if let Err(failure) = self.entry(entry, &asked) {
                (self.results)(Outcome::failed(failure));
            }
            Ok(())
        })
    }

    fn entry(&self, entry: &kernels::Entry<'_>, asked: &Asked) -> Result<(), Failure> {
        let (name, stage) = match entry.asked.len() {
            1 => (self.name.to_owned(), String::new()),
            of => (
                format!("{}:{}", self.name, entry.name()),
                format!("{}, {} of {of}: ", entry.name(), entry.number + 1),
            ),
        };
        let work = Work {
            name: &name,
            entry: &stage,
            launched: &entry.launched,
            ..*self
        };
        let began = Instant::now();
        let bare = match &asked.plain {
            None => None,
            Some(_) => Some(work.in_time(|| entry.protocol())?),
        };
        if let (Some(bare), Some(plain)) = (&bare, &asked.plain) {
            let work = Work {
                recovered_in: began.elapsed(),
                ..work
            };
            work.recovered(entry, self.name, bare, plain)?;
        }
        if asked.data.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let (races, reads): (Vec<Wanted>, Vec<Wanted>) = asked
            .data
            .iter()
            .partition(|wanted| **wanted == Wanted::One(Property::Race));
        // Stale reads need a protocol that says what a read sees. If there is none, the refusal is kept, because
        // races may still be decided of the graph's protocol.
        let (with_data, refused) = match reads.as_slice() {
            [] => (work.in_time(|| entry.races())?, None),
            _ => match work.in_time(|| entry.with_data())? {
                Ok(lifted) => (Ok(lifted), None),
                Err(refused) => (Err(refused.reason.clone()), Some(refused)),
            },
        };
        let work = Work {
            recovered_in: began.elapsed(),
            ..work
        };
        // With `all`, nothing is reported about data if the kernel has no data, or if no protocol was recovered.
        let none = match (&bare, &with_data) {
            (Some(Err(_)), _) => true,
            (_, Ok(lifted)) => !lifted.text.contains("\nbuffer "),
            (_, Err(_)) => false,
        };
        if asked.all && none {
            return Ok(());
        }
        if let Some(refused) = refused.filter(|_| !races.is_empty()) {
            let of_races = work.in_time(|| entry.races_of_graph(refused))?;
            work.recovered(entry, self.name, &of_races, &races)?;
            return work.recovered(entry, self.name, &with_data, &reads);
        }
        work.recovered(entry, self.name, &with_data, &asked.data)
    }

    /// Decides the given properties of a recovered protocol.
    fn recovered(
        &self,
        entry: &kernels::Entry<'_>,
        file: &str,
        protocol: &Result<Lifted, String>,
        wanted: &[Wanted],
    ) -> Result<(), Failure> {
        let note = if wanted.iter().copied().any(about_data) {
            "other lines are those of the protocol that `warplock lift --data` prints"
        } else {
            "other lines are those of the protocol that `warplock lift` prints"
        };
        let found = OnceCell::new();
        let lints = || {
            let lints = found.get_or_init(|| kernels::notes(entry, self.order.timeout));
            lints.clone()
        };
        let reason = match protocol {
            Ok(lifted) => {
                let proves = |_: String| match lifted.proves.as_deref() {
                    Some(other) => Ok(Lifted {
                        recovery: lifted.recovery.clone(),
                        ..other.clone()
                    }),
                    None => Err(None),
                };
                let mut others: Vec<Other<'_>> = Vec::new();
                if lifted.proves.is_some() {
                    others.push(&proves);
                }
                let recovered = match &lifted.recovery {
                    // The recovery along the instructions was tried first and refused, so there is no other way left.
                    Recovery::Graph {
                        instead: Some(Instead::Refused(_)),
                    } => None,
                    recovered => entry.has_two_ways().then_some(recovered),
                };
                let other_way = |undecided: String| match recovered {
                    Some(recovered) => entry.other_way(recovered, undecided),
                    None => Err(None),
                };
                if recovered.is_some() {
                    others.push(&other_way);
                }
                let work = Work {
                    lints: Some(&lints),
                    note: Some(note),
                    others: &others,
                    kernel: Some((file, entry.source(), &lifted.lines)),
                    exact: lifted.exact,
                    launches: &lifted.launches,
                    recovery: Some(&lifted.recovery),
                    ..*self
                };
                return work.protocol(lifted.text.as_bytes(), wanted);
            }
            Err(reason) => reason,
        };
        let work = Work {
            lints: Some(&lints),
            kernel: Some((file, entry.source(), &[])),
            ..*self
        };
        work.unknown(file, entry.name(), reason, wanted);
        Ok(())
    }

    /// Reports the properties of a kernel that has no protocol as unknown.
    fn unknown(&self, file: &str, entry: &str, reason: &str, wanted: &[Wanted]) {
        let mut outcome = Outcome::default();
        for property in listed(wanted, || Property::ALL.to_vec()) {
            let mut finding = finding::unrecovered(self.name, entry, property, reason);
            if let Some((_, source, _)) = self.kernel {
                finding.recovered_from(file, source, &[]);
                finding.text_is(self.text_name);
                finding.hint = Some(finding::TRY_VALUES.to_owned());
            }
            finding
                .notes
                .extend(self.lints.iter().flat_map(|lints| lints()));
            outcome.findings.push(finding);
        }
        (self.results)(outcome);
    }

    fn protocol(&self, bytes: &[u8], wanted: &[Wanted]) -> Result<(), Failure> {
        let protocol = sources::load_bytes(bytes, self.name, self.order.style)?;
        if self.order.expect {
            return self.expectations(bytes, &protocol);
        }
        let shared = Shared::default();
        for property in listed(wanted, || hazard::applicable(&protocol)) {
            let narrowing = &self.order.narrowing;
            let done = self.property(bytes, property, narrowing, &shared, None);
            self.kept_going(done)?;
        }
        Ok(())
    }

    fn expectations(&self, bytes: &[u8], protocol: &Protocol) -> Result<(), Failure> {
        let wanted = |expectation: &&Expectation| {
            let properties = &self.order.properties;
            let named = |wanted: &Wanted| match wanted {
                Wanted::All => true,
                Wanted::One(property) => property.name() == expectation.property,
            };
            properties.is_empty() || properties.iter().any(named)
        };
        let expectations: Vec<&Expectation> = protocol.expectations.iter().filter(wanted).collect();
        if expectations.is_empty() {
            (self.results)(Outcome {
                without_expectations: Some(self.name.to_owned()),
                ..Outcome::default()
            });
        }
        let shared = Shared::default();
        for expectation in expectations {
            let Some(property) = Property::from_name(&expectation.property) else {
                let message = format!("{}: no property {}", self.name, expectation.property);
                return Err(Failure::input(message));
            };
            let mut narrowing = self.order.narrowing.clone();
            let assuming = expectation.assuming.iter().map(|a| a.text.clone());
            narrowing.assume.extend(assuming);
            let expected = Some((protocol, expectation));
            let done = self.property(bytes, property, &narrowing, &shared, expected);
            self.kept_going(done)?;
        }
        Ok(())
    }

    /// An internal error concerns one property only. It is reported, and the other properties are decided all the
    /// same.
    fn kept_going(&self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Err(failure @ Failure::Internal(_)) => {
                (self.results)(Outcome::failed(failure));
                Ok(())
            }
            done => done,
        }
    }
}

/// Whether a property is about reads and writes of memory.
fn about_data(wanted: Wanted) -> bool {
    matches!(wanted, Wanted::One(Property::Race | Property::StaleRead))
}
